#include <numeric>
#include <vector>

#include "ops/cpu/loops.h"
#include "ops/kernels/graph.h"

namespace rodeo::kernels::cpu {
void edge_rows(const Csr& a, const Tensor& rows) {
  const auto* row_ptr = a.row_ptr.data<std::int64_t>();
  auto* out = rows.data<std::int32_t>();
#pragma omp parallel for schedule(dynamic, 1024)
  for (std::int64_t i = 0; i < a.rows; ++i)
    std::fill(out + row_ptr[i], out + row_ptr[i + 1], static_cast<std::int32_t>(i));
}

std::int64_t first_unsorted_row(const Csr& a) {
  const auto* row_ptr = a.row_ptr.data<std::int64_t>();
  const auto* col = a.col.data<std::int32_t>();
  std::int64_t first = a.rows;
#pragma omp parallel for reduction(min : first) schedule(dynamic, 1024)
  for (std::int64_t i = 0; i < a.rows; ++i)
    if (!std::is_sorted(col + row_ptr[i], col + row_ptr[i + 1])) first = std::min(first, i);
  return first == a.rows ? -1 : first;
}

SortedEdges add_self_loops(const Csr& a, std::int64_t first_row) {
  const auto* row_ptr = a.row_ptr.data<std::int64_t>();
  const auto* col = a.col.data<std::int32_t>();
  const Tensor looped_ptr = Tensor::empty({a.rows + 1}, DType::kI64);
  auto* out_ptr = looped_ptr.data<std::int64_t>();
  const auto node = [=](std::int64_t i) { return static_cast<std::int32_t>(first_row + i); };
  out_ptr[0] = 0;
#pragma omp parallel for schedule(dynamic, 1024)
  for (std::int64_t i = 0; i < a.rows; ++i) {
    const bool present = std::binary_search(col + row_ptr[i], col + row_ptr[i + 1], node(i));
    out_ptr[i + 1] = row_ptr[i + 1] - row_ptr[i] + (present ? 0 : 1);
  }
  std::partial_sum(out_ptr, out_ptr + a.rows + 1, out_ptr);
  const Tensor looped_col = Tensor::empty({out_ptr[a.rows]}, DType::kI32);
  const Tensor edge_ids = Tensor::empty({out_ptr[a.rows]}, DType::kI64);
  auto* out_col = looped_col.data<std::int32_t>();
  auto* ids = edge_ids.data<std::int64_t>();
#pragma omp parallel for schedule(dynamic, 1024)
  for (std::int64_t i = 0; i < a.rows; ++i) {
    const bool insert = out_ptr[i + 1] - out_ptr[i] > row_ptr[i + 1] - row_ptr[i];
    std::int64_t at = out_ptr[i];
    const auto put = [&](std::int32_t column, std::int64_t id) { out_col[at] = column, ids[at++] = id; };
    bool placed = !insert;
    for (std::int64_t e = row_ptr[i]; e < row_ptr[i + 1]; ++e) {
      if (!placed && col[e] > node(i)) put(node(i), -1), placed = true;
      put(col[e], e);
    }
    if (!placed) put(node(i), -1);
  }
  return {{a.rows, a.cols, looped_ptr, looped_col}, edge_ids};
}

void take(const Tensor& values, const Tensor& ids, double missing, const Tensor& out) {
  dispatch_all(values.dtype(), [&]<class T>(T) {
    const T *v = values.data<T>(), fallback = *Tensor::full({}, missing, values.dtype()).data<T>();
    const auto* id = ids.data<std::int64_t>();
    T* o = out.data<T>();
    const std::int64_t n = out.numel() / ids.numel();
    for_each_row(ids.numel(), n, [=](std::int64_t i) {
      for (std::int64_t j = 0; j < n; ++j) o[i * n + j] = id[i] < 0 ? fallback : v[id[i] * n + j];
    });
  });
}

}  // namespace rodeo::kernels::cpu
