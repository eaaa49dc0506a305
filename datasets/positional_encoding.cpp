#include "datasets/positional_encoding.h"

namespace rodeo {
namespace {

/// The edges of nodes [begin, end), which have no others.
Graph part_of(const Graph& graph, std::int64_t begin, std::int64_t end) {
  const Csr& csr = graph.adj.csr();
  const auto* p = csr.row_ptr.data<std::int64_t>();
  const Tensor row_ptr = Tensor::empty({end - begin + 1}, DType::kI64),
               col = csr.col.slice(p[begin], p[end]).clone();
  for (std::int64_t i = begin; i <= end; ++i) row_ptr.data<std::int64_t>()[i - begin] = p[i] - p[begin];
  for (std::int64_t e = 0; e < col.numel(); ++e)
    col.data<std::int32_t>()[e] -= static_cast<std::int32_t>(begin);
  return {Adjacency::trusted({end - begin, end - begin, row_ptr, col}),
          graph.weight.defined() ? graph.weight.slice(p[begin], p[end]) : Tensor(),
          {}};
}

}  // namespace

std::vector<Graph> graphs_of(const Graph& graph, const Tensor& graph_ptr) {
  if (!graph_ptr.defined() || graph_ptr.numel() < 2) return {graph};
  const std::vector<std::int64_t> ptr = graph_ptr.to_vector<std::int64_t>();
  std::vector<Graph> out;
  for (std::size_t g = 0; g + 1 < ptr.size(); ++g) out.push_back(part_of(graph, ptr[g], ptr[g + 1]));
  return out;
}

}  // namespace rodeo
