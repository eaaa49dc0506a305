#include "ops/plan/row_locality.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "ops/kernels/sparse.h"

namespace rodeo::kernels::cpu {

RowLocality row_locality(const Csr& a, const Tensor& cluster, const RowLocality::Window& window) {
  const auto* row_ptr = a.row_ptr.data<std::int64_t>();
  const auto* col = a.col.data<std::int32_t>();
  std::vector<std::int64_t> order(static_cast<std::size_t>(a.rows));
  std::iota(order.begin(), order.end(), 0);
  if (cluster.defined())
    std::ranges::stable_sort(order, {},
                             [c = cluster.data<std::uint8_t>()](std::int64_t row) { return c[row]; });
  RowLocality out;
  std::vector<bool> seen(std::size_t{1} << RowLocality::kSlotBits);
  for (int w = 0; w < RowLocality::kWindows; ++w) {
    seen.assign(seen.size(), false);
    const std::int64_t first = RowLocality::first_row(w, a.rows, window.rows),
                       end = std::min(a.rows, first + window.rows);
    for (std::int64_t at = first; at < end; ++at) {
      const std::int64_t row = order[static_cast<std::size_t>(at)], begin = row_ptr[row],
                         length = row_ptr[row + 1] - begin;
      for (int i = 0; i < window.samples && i < length; ++i) {
        const std::size_t slot =
            RowLocality::slot(col[begin + RowLocality::sample(length, window.samples, i)]);
        out.distinct += !seen[slot];
        seen[slot] = true;
        ++out.sampled;
      }
    }
  }
  return out;
}

}  // namespace rodeo::kernels::cpu
