/// A small heterogeneous graph, and loops over the edges of any.
#pragma once

#include <vector>

#include "ops/hetero_graph.h"

namespace rodeo::test {

/// Authors write papers, papers cite papers, papers are in venues, and a type without nodes has a relation
/// without edges. Paper 3 is isolated in all relations; edges repeat. Ids are i64 or i32.
inline HeteroGraph small_hetero_graph(Device device) {
  using Ids = std::vector<std::int64_t>;
  using Narrow = std::vector<std::int32_t>;
  return HeteroGraph(
      {{"author", 5}, {"paper", 4}, {"nobody", 0}, {"venue", 3}},
      {{"author", "writes", "paper", Tensor::from(Ids{4, 0, 1, 1, 2, 1}, device),
        Tensor::from(Ids{2, 0, 0, 1, 2, 0}, device)},
       {"paper", "cites", "paper", Tensor::from(Narrow{0, 1, 2}), Tensor::from(Narrow{1, 1, 0})},
       {"paper", "in", "venue", Tensor::from(Ids{0, 1, 2}), Tensor::from(Ids{2, 2, 0})},
       {"nobody", "reads", "paper", Tensor::from(Ids{}), Tensor::from(Ids{})}},
      device);
}

/// visit(relation, source, target, edges of the target in the relation), ids within their type.
template <class Visit>
void for_each_edge(const HeteroGraph& graph, const Visit& visit) {
  for (int r = 0; r < graph.num_relations(); ++r) {
    const auto ids = [](const Tensor& x) { return x.to(kCpu).to(DType::kI64).to_vector<std::int64_t>(); };
    const std::vector<std::int64_t> src = ids(graph.relation(r).src_ids),
                                    dst = ids(graph.relation(r).dst_ids);
    std::vector<std::int64_t> degree(static_cast<std::size_t>(graph.num_rows(graph.dst_type(r))));
    for (const std::int64_t i : dst) ++degree[static_cast<std::size_t>(i)];
    for (std::size_t e = 0; e < src.size(); ++e)
      visit(r, src[e], dst[e], degree[static_cast<std::size_t>(dst[e])]);
  }
}

}  // namespace rodeo::test
