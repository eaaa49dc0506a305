#include "datasets/node_parts.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/error.h"
#include "ops/convert.h"
#include "ops/sample_neighbors.h"
#include "ops/select_columns.h"

namespace rodeo {

NodeParts::NodeParts(const Adjacency& graph, const Tensor& targets, std::int64_t part_size, int layers,
                     std::uint64_t seed)
    : graph_(graph), part_size_(part_size), layers_(layers), seed_(seed) {
  check(graph.defined() && graph.rows() == graph.cols(), "[node_parts] graph must be square");
  check(part_size >= 1 && layers >= 1, "[node_parts] part_size and layers must be at least 1, got ",
        part_size, " and ", layers);
  check(targets.defined() && targets.rank() == 1 && targets.dtype() == DType::kI64,
        "[node_parts] targets must be i64 [t]");
  is_target_.assign(static_cast<std::size_t>(graph.rows()), 0);
  targets_ = targets.to_vector<std::int64_t>();
  const std::vector<std::int64_t>& all = targets_;
  for (std::size_t i = 0; i < all.size(); ++i) {
    check(all[i] >= 0 && all[i] < graph.rows(), "[node_parts] targets[", i, "] = ", all[i],
          " is outside [0, ", graph.rows(), ")");
    check(!std::exchange(is_target_[all[i]], 1), "[node_parts] targets[", i, "] = ", all[i],
          " occurs twice: they must be different nodes");
  }
  marks_ = make_node_marks(graph_);
}

std::vector<NodeParts::Part> NodeParts::epoch(std::int64_t epoch) const {
  check(epoch >= 0, "[node_parts] epoch must not be negative, got ", epoch);
  constexpr std::uint64_t kOrder = 0x9A2757;  // other numbers than those of samples and of MiniBatches
  const SampleKey key{seed_ ^ kOrder, static_cast<std::uint64_t>(epoch), 0, 0};
  const std::int64_t nodes = graph_.rows(), count = (nodes + part_size_ - 1) / part_size_;
  std::vector<std::int64_t> order(static_cast<std::size_t>(nodes));
  std::iota(order.begin(), order.end(), 0);
  for (std::int64_t i = nodes - 1; i > 0; --i)  // Fisher-Yates
    std::swap(order[i], order[key.draw(0, static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(i + 1))]);
  std::vector<std::int64_t> targets;
  for (std::int64_t p = 0; p < count; ++p) {
    const auto begin = order.begin() + nodes * p / count, end = order.begin() + nodes * (p + 1) / count;
    std::sort(begin, end);  // neighbours in the order of nodes are near each other in memory
    targets.push_back(std::stable_partition(begin, end, [&](auto node) { return is_target_[node] != 0; }) -
                      begin);
  }
  const Tensor all = Tensor::from(order, graph_.device());
  std::vector<Part> parts;
  for (std::int64_t p = 0; p < count; ++p)
    if (targets[p] > 0) {
      const auto first = order.begin() + nodes * p / count;
      parts.push_back(
          {all.slice(nodes * p / count, nodes * (p + 1) / count), targets[p], {first, first + targets[p]}});
    }
  return parts;
}

// All neighbours are sampled; those that are not in the part are numbered behind its nodes.
SampledBatch NodeParts::sample(const Part& part) const {
  const std::int64_t k = part.nodes.numel();
  const Tensor count = Tensor::full({1}, static_cast<double>(k), DType::kI64, graph_.device());
  const NeighborSample all = sample_neighbors(graph_, part.nodes, count, {}, {}, marks_);
  const RowSelection inside =
      select_first_columns(Adjacency::trusted({k, all.nodes.numel(), all.row_ptr, all.col}), k);
  const Tensor edges = take(all.edge_ids, inside.edge_ids);
  return {std::vector<Block>(static_cast<std::size_t>(layers_), {inside.adj, edges, part.nodes}),
          part.nodes.slice(0, part.targets)};
}

}  // namespace rodeo
