#include "ops/select_rows.h"

#include "ops/cpu/loops.h"
#include "ops/kernels/graph.h"

namespace rodeo::kernels::cpu {

void copy_rows(const Csr& a, const Tensor& rows, const Tensor& row_ptr, const Tensor& col,
               const Tensor& edge_ids) {
  const auto *from = a.row_ptr.data<std::int64_t>(), *to = row_ptr.data<std::int64_t>(),
             *row = rows.data<std::int64_t>();
  const auto* source = a.col.data<std::int32_t>();
  auto* target = col.data<std::int32_t>();
  auto* ids = edge_ids.defined() ? edge_ids.data<std::int64_t>() : nullptr;
  for_each_row(rows.numel(), 1 + col.numel() / rows.numel(), [=](std::int64_t i) {
    const std::int64_t shift = from[row[i]] - to[i];
    for (std::int64_t e = to[i]; e < to[i + 1]; ++e) {
      target[e] = source[e + shift];
      if (ids) ids[e] = e + shift;
    }
  });
}

}  // namespace rodeo::kernels::cpu
