// The first columns of a matrix (ops/select_columns.h).
#include "ops/kernels/graph.h"

namespace rodeo::kernels::cpu {

void count_first_columns(const Csr& a, std::int64_t cols, const Tensor& row_ptr) {
  const auto* begin = a.row_ptr.data<std::int64_t>();
  const auto* col = a.col.data<std::int32_t>();
  auto* out = row_ptr.data<std::int64_t>();
#pragma omp parallel for schedule(dynamic, 64)
  for (std::int64_t i = 0; i < a.rows; ++i) {
    std::int64_t count = 0;
    for (std::int64_t e = begin[i]; e < begin[i + 1]; ++e) count += col[e] < cols;
    out[i + 1] = count;
  }
  out[0] = 0;
  for (std::int64_t i = 0; i < a.rows; ++i) out[i + 1] += out[i];
}

void copy_first_columns(const Csr& a, std::int64_t cols, const Tensor& row_ptr, const Tensor& col,
                        const Tensor& edge_ids) {
  const auto *begin = a.row_ptr.data<std::int64_t>(), *to = row_ptr.data<std::int64_t>();
  const auto* from = a.col.data<std::int32_t>();
  auto* out = col.data<std::int32_t>();
  auto* ids = edge_ids.data<std::int64_t>();
#pragma omp parallel for schedule(dynamic, 64)
  for (std::int64_t i = 0; i < a.rows; ++i)
    for (std::int64_t e = begin[i], at = to[i]; e < begin[i + 1]; ++e)
      if (from[e] < cols) out[at] = from[e], ids[at++] = e;
}

}  // namespace rodeo::kernels::cpu
