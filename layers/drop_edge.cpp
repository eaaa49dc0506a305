#include "layers/drop_edge.h"

#include <vector>

#include "ops/convert.h"
#include "ops/edge_dropout.h"

namespace rodeo {

ConvGraph drop_edges(const ConvGraph& graph, double p, RandomKey key) {
  check(!graph.selected.defined() && !graph.adj.is_sharded(),
        "[drop_edges] the graph must be whole on one rank, or a block");
  const Csr& csr = graph.adj.csr();
  const Device device = graph.adj.device();
  const std::int64_t edges = graph.adj.num_edges();
  const Tensor ones = Tensor::full({edges, 1}, 1, DType::kF32, device);
  const std::vector<float> mask = edge_dropout(graph.adj, ones, p, key).to_vector<float>();
  const auto begin = csr.row_ptr.to_vector<std::int64_t>();
  const auto column = csr.col.to_vector<std::int32_t>();
  std::vector<std::int64_t> row_ptr{0}, ids;
  std::vector<std::int32_t> col;
  for (std::int64_t row = 0; row < csr.rows; ++row) {
    for (std::int64_t e = begin[row]; e < begin[row + 1]; ++e)
      if (mask[e] != 0 || column[e] == row) ids.push_back(e), col.push_back(column[e]);
    row_ptr.push_back(std::ssize(ids));
  }
  ConvGraph out = graph;
  out.adj =
      Adjacency::trusted({csr.rows, csr.cols, Tensor::from(row_ptr, device), Tensor::from(col, device)});
  const Tensor kept = Tensor::from(ids, device);
  if (graph.weight.defined()) out.weight = take(graph.weight, kept);
  if (graph.edge_attr.defined()) out.edge_attr = Variable(take(graph.edge_attr.value(), kept));
  if (graph.is_block || !graph.row_scale.defined()) return out;
  out.row_scale = out.col_scale = inverse_sqrt_degrees(out.adj, out.weight, graph.row_scale.dtype());
  return out;
}

}  // namespace rodeo
