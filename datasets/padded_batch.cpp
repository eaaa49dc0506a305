#include "datasets/padded_batch.h"

#include <algorithm>

#include "core/error.h"
#include "ops/all_rows.h"
#include "ops/copy_padded.h"

namespace rodeo {
namespace {

// Few enough nodes that their features stay in the L2 cache, enough that no single line of it is read by all.
constexpr std::int64_t kFillerNodes = 4096;

}  // namespace

PaddedBatch::PaddedBatch(const Adjacency& graph, const NeighborSamplerOptions& options,
                         std::int64_t targets) {
  check(std::ranges::none_of(options.fanout, [](auto fanout) { return fanout == kAllNeighbors; }),
        "[padded_batch] a batch with all neighbours has no largest size: give each layer a fan-out");
  const Device device = graph.device();
  const AllRows whole = all_rows(graph);
  const std::size_t layers = options.fanout.size();
  padded_ = {std::vector<Block>(layers), Tensor::zeros({targets}, DType::kI64, device)};
  std::int64_t nodes = targets;
  for (std::size_t hop = 0; hop < layers; ++hop) {
    std::int64_t edges = options.fanout[hop] * nodes;
    if (!options.replace) edges = std::min(edges, whole.edges);
    const std::int64_t sources = std::min(whole.nodes, nodes + edges);
    graphs_.emplace_back(nodes, sources, edges, device);
    padded_.blocks[layers - 1 - hop] = {graphs_.back().adj(), Tensor::zeros({edges}, DType::kI64, device),
                                        Tensor::zeros({sources}, DType::kI64, device)};
    nodes = sources;
  }
  std::ranges::reverse(graphs_);
  std::vector<std::int64_t> filler(static_cast<std::size_t>(nodes));
  for (std::int64_t i = 0; i < nodes; ++i) filler[i] = i % std::min(kFillerNodes, whole.nodes);
  filler_ = Tensor::from(filler, device);
}

void PaddedBatch::prepare(const SampledBatch& batch) const {
  for (std::size_t l = 0; l < graphs_.size(); ++l) graphs_[l].prepare(batch.blocks[l].adj);
}

void PaddedBatch::load(const SampledBatch& batch) {
  check(batch.targets.shape() == padded_.targets.shape(), "[padded_batch] a batch must have ",
        padded_.targets.numel(), " targets, got ", batch.targets.numel());
  std::vector<PaddedCopy> copies{{.from = batch.targets, .to = padded_.targets}};
  for (std::size_t l = 0; l < graphs_.size(); ++l) {
    const Block &from = batch.blocks[l], &to = padded_.blocks[l];
    graphs_[l].add_copies(from.adj, copies);
    copies.push_back({.from = from.edge_ids, .to = to.edge_ids.slice(0, from.edge_ids.numel())});
    copies.push_back(
        {.from = from.sources, .to = to.sources, .filler = filler_.slice(0, to.sources.numel())});
  }
  copy_padded(copies);
  if (batch.features.defined()) {
    const Tensor& from = batch.features;
    if (!padded_.features.defined())
      padded_.features = Tensor::zeros({padded_.inputs().numel(), from.dim(1)}, from.dtype(), from.device());
    padded_.features.slice(0, from.dim(0)).copy_from(from);
  }
  for (const PaddedGraph& graph : graphs_) graph.finish_load();
}

void PaddedBatch::keep_what_was_used() {
  for (PaddedGraph& graph : graphs_) graph.keep_what_was_used();
}

}  // namespace rodeo
