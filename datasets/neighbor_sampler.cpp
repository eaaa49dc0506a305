#include "datasets/neighbor_sampler.h"

#include <algorithm>
#include <unordered_set>

#include "core/error.h"
#include "datasets/relation_sampler.h"
#include "ops/all_rows.h"
#include "ops/sample_neighbors.h"

namespace rodeo {
namespace {

std::vector<std::int64_t> checked_nodes(std::string_view what, const Tensor& nodes, std::int64_t limit) {
  check(nodes.defined() && nodes.rank() == 1 && nodes.dtype() == DType::kI64, "[", what,
        "] nodes must be i64 [k]");
  std::vector<std::int64_t> host = nodes.to_vector<std::int64_t>();
  std::unordered_set<std::int64_t> seen;
  for (std::size_t i = 0; i < host.size(); ++i) {
    check(host[i] >= 0 && host[i] < limit, "[", what, "] nodes[", i, "] = ", host[i], " is outside [0, ",
          limit, ")");
    check(seen.insert(host[i]).second, "[", what, "] nodes[", i, "] = ", host[i],
          " occurs twice: a batch needs different nodes");
  }
  return host;
}

/// Exact sizes, from one wait for the device.
void cut_to_size(std::vector<NeighborSample>& samples, std::vector<Block>& blocks, std::int64_t targets) {
  const std::int64_t layers = std::ssize(samples);
  const Device device = samples.front().col.device();
  const Tensor sizes = Tensor::empty({2 * layers}, DType::kI64, device);
  for (std::int64_t l = 0; l < layers; ++l) {
    const Tensor& row_ptr = samples[l].row_ptr;
    sizes.slice(2 * l, 2 * l + 1).copy_from(row_ptr.slice(row_ptr.numel() - 1, row_ptr.numel()));
    sizes.slice(2 * l + 1, 2 * l + 2).copy_from(samples[l].num_nodes);
  }
  const std::vector<std::int64_t> size = sizes.to_vector<std::int64_t>();
  for (std::int64_t l = 0; l < layers; ++l) {
    const NeighborSample& s = samples[l];
    const std::int64_t edges = size[2 * l], nodes = size[2 * l + 1];
    blocks[l] = {sampled_graph(s, targets, nodes, edges), s.edge_ids.slice(0, edges),
                 s.nodes.slice(0, nodes)};
    targets = nodes;
  }
}

}  // namespace

NeighborSampler::NeighborSampler(const Adjacency& graph, NeighborSamplerOptions options)
    : graph_(graph), options_(std::move(options)) {
  check(graph.defined() && graph.rows() == graph.cols(), "[neighbor_sampler] graph must be square");
  check_options();
  marks_ = make_node_marks(graph_);
}

NeighborSampler::NeighborSampler(const HeteroGraph& graph, int target, NeighborSamplerOptions options)
    : options_(std::move(options)) {
  check(graph.is_whole(), "[neighbor_sampler] the graph must be whole, not a block of a mini-batch");
  check(target >= -1 && target < graph.num_types(), "[neighbor_sampler] target must be -1 or a node type of ",
        graph.num_types(), ", got ", target);
  check_options();
  graph_ = graph.by_target();
  marks_ = make_node_marks(graph_);
  relations_ = std::make_shared<const SampledRelations>(SampledRelations{graph, target});
}

void NeighborSampler::check_options() const {
  check(!options_.fanout.empty() && options_.fanout.size() <= 255,
        "[neighbor_sampler] there must be 1 to 255 fan-outs, one for each layer, got ",
        options_.fanout.size());
  for (const std::int64_t fanout : options_.fanout)
    check(fanout > 0 || (fanout == kAllNeighbors && !options_.replace),
          "[neighbor_sampler] a fan-out must be positive, or -1 for all neighbours without replacement, got ",
          fanout);
}

std::vector<std::int64_t> NeighborSampler::first_edges() const {
  std::vector<std::int64_t> out;
  for (int r = 0; relations_ && r < relations_->graph.num_relations(); ++r)
    out.push_back(relations_->graph.first_edge(r));
  return out;
}

SampledBatch NeighborSampler::sample(const Tensor& targets, std::int64_t epoch, std::int64_t batch) const {
  const bool of_type = relations_ && relations_->target >= 0;
  checked_nodes("neighbor_sampler", targets,
                of_type ? relations_->graph.num_nodes(relations_->target) : all_rows(graph_).nodes);
  return sample_checked(targets.to(graph_.device()), epoch, batch);
}

SampledBatch NeighborSampler::sample_checked(const Tensor& targets, std::int64_t epoch,
                                             std::int64_t batch) const {
  check(epoch >= 0 && batch >= 0, "[neighbor_sampler] epoch and batch must not be negative");
  if (relations_) return sample_relations(*relations_, options_, marks_, targets, epoch, batch);
  const std::int64_t all = all_rows(graph_).nodes;
  std::vector<NeighborSample> samples;
  Tensor nodes = targets,
         count = Tensor::full({1}, static_cast<double>(targets.numel()), DType::kI64, graph_.device());
  for (std::size_t hop = 0; hop < options_.fanout.size(); ++hop) {
    const SampleKey key{options_.seed, static_cast<std::uint64_t>(epoch), static_cast<std::uint64_t>(batch),
                        hop};
    samples.push_back(sample_neighbors(
        graph_, nodes, count, {.fanout = options_.fanout[hop], .replace = options_.replace}, key, marks_));
    // Sizes are known on the device alone. Nodes are different, so that no layer has more than the graph.
    nodes = samples.back().nodes.slice(0, std::min(samples.back().nodes.numel(), all));
    count = samples.back().num_nodes;
  }
  SampledBatch out{std::vector<Block>(samples.size()), targets};
  cut_to_size(samples, out.blocks, targets.numel());
  std::ranges::reverse(out.blocks);
  return out;
}

MiniBatches::MiniBatches(const Tensor& nodes, std::int64_t num_nodes, std::int64_t batch_size,
                         std::uint64_t seed, Device device, std::int64_t least)
    : nodes_(checked_nodes("mini_batches", nodes, num_nodes)),
      batch_size_(batch_size),
      seed_(seed),
      device_(device),
      least_(least) {
  check(batch_size >= 1, "[mini_batches] the batch size must be at least 1, got ", batch_size);
  check(least >= 1 && least <= batch_size, "[mini_batches] the least nodes of a batch must be in [1, ",
        batch_size, "], got ", least);
}

std::int64_t MiniBatches::size() const {
  const std::int64_t full = std::ssize(nodes_) / batch_size_, rest = std::ssize(nodes_) % batch_size_;
  return full + (rest >= least_ || (rest > 0 && full == 0) ? 1 : 0);
}

std::vector<std::int64_t> MiniBatches::order(std::int64_t epoch) const {
  check(epoch >= 0, "[mini_batches] epoch must not be negative, got ", epoch);
  constexpr std::uint64_t kOrder = 0xF15EE5;  // other numbers than those of samples
  const SampleKey key{seed_ ^ kOrder, static_cast<std::uint64_t>(epoch), 0, 0};
  std::vector<std::int64_t> order = nodes_;
  for (std::int64_t i = std::ssize(order) - 1; i > 0; --i)  // Fisher-Yates
    std::swap(order[i], order[key.draw(0, static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(i + 1))]);
  return order;
}

std::vector<Tensor> MiniBatches::cut(const std::vector<std::int64_t>& order) const {
  const Tensor all = Tensor::from(order, device_);
  std::vector<Tensor> batches;
  for (std::int64_t i = 0, count = size(); i < count; ++i)
    batches.push_back(all.slice(i * batch_size_, i + 1 < count ? (i + 1) * batch_size_ : all.numel()));
  return batches;
}

}  // namespace rodeo
