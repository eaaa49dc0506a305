#include <algorithm>

#include "ops/cpu/loops.h"
#include "ops/kernels/graph.h"

namespace rodeo::kernels::cpu {

// The k-th of parallel edges is the reverse of the k-th parallel edge in the other direction.
bool reverse_edges(const Csr& a, const Tensor& ids) {
  const auto* row_ptr = a.row_ptr.data<std::int64_t>();
  const auto* col = a.col.data<std::int32_t>();
  auto* out = ids.defined() ? ids.data<std::int64_t>() : nullptr;
  bool all = true;
#pragma omp parallel for schedule(dynamic, 1024) reduction(&& : all)
  for (std::int64_t row = 0; row < a.rows; ++row) {
    std::int64_t before = 0;
    for (std::int64_t e = row_ptr[row]; e < row_ptr[row + 1] && all; ++e) {
      const std::int64_t other = col[e];
      before = e > row_ptr[row] && col[e - 1] == other ? before + 1 : 0;
      const std::int32_t* end = col + row_ptr[other + 1];
      const std::int32_t* first = std::lower_bound(col + row_ptr[other], end, static_cast<std::int32_t>(row));
      all = end - first > before && first[before] == row;
      if (out && all) out[e] = first - col + before;
    }
  }
  return all;
}

std::int64_t count_one_way_edges(const Csr& a) {
  const auto* row_ptr = a.row_ptr.data<std::int64_t>();
  const auto* col = a.col.data<std::int32_t>();
  std::int64_t count = 0;
#pragma omp parallel for schedule(dynamic, 1024) reduction(+ : count)
  for (std::int64_t row = 0; row < a.rows; ++row)
    for (std::int64_t e = row_ptr[row]; e < row_ptr[row + 1]; ++e)
      count += col[e] != row && !std::binary_search(col + row_ptr[col[e]], col + row_ptr[col[e] + 1],
                                                    static_cast<std::int32_t>(row));
  return count;
}

}  // namespace rodeo::kernels::cpu
