// Graphs of a block-diagonal graph as a new one (ops/graph_batch.h).
#include "ops/kernels/graph_batch.h"
#include "ops/cpu/loops.h"

namespace rodeo::kernels::cpu {

void block_diagonal(const Csr& all, const Tensor& places, const Tensor& nodes, const Csr& batch,
                    const Tensor& edge_ids) {
  const std::int64_t stride = places.dim(1);
  const auto *node_begin = places.data<std::int64_t>(), *edge_begin = node_begin + stride,
             *node_from = edge_begin + stride, *edge_from = node_from + stride;
  const auto* all_ptr = all.row_ptr.data<std::int64_t>();
  const auto* all_col = all.col.data<std::int32_t>();
  auto *node = nodes.data<std::int64_t>(), *row_ptr = batch.row_ptr.data<std::int64_t>();
  auto* col = batch.col.data<std::int32_t>();
  auto* id = edge_ids.data<std::int64_t>();
  for (std::int64_t g = 0; g + 1 < stride; ++g) {
    const std::int64_t shift = node_begin[g] - node_from[g], edge_shift = edge_begin[g] - edge_from[g];
    for (std::int64_t i = node_begin[g]; i < node_begin[g + 1]; ++i) {
      const std::int64_t from = i - shift;
      node[i] = from;
      row_ptr[i] = all_ptr[from] + edge_shift;
      for (std::int64_t e = all_ptr[from]; e < all_ptr[from + 1]; ++e) {
        col[e + edge_shift] = static_cast<std::int32_t>(all_col[e] + shift);
        id[e + edge_shift] = e;
      }
    }
  }
  row_ptr[batch.rows] = edge_begin[stride - 1];
}

}  // namespace rodeo::kernels::cpu
