#include <cmath>

#include "core/find_first.h"
#include "ops/cpu/loops.h"
#include "ops/kernels/graph.h"

namespace rodeo::kernels::cpu {
namespace {

/// The first i in [0, n) for which bad(i), or -1.
template <class Bad>
std::int64_t first_of(std::int64_t n, Bad&& bad) {
  const std::int64_t first = find_first(n, bad);
  return first == n ? -1 : first;
}

}  // namespace

std::int64_t first_out_of_range(const Tensor& ids, std::int64_t limit) {
  const auto find = [&]<class I>(I) {
    const I* id = ids.data<I>();
    return first_of(ids.numel(), [=](std::int64_t i) { return id[i] < 0 || id[i] >= limit; });
  };
  return ids.dtype() == DType::kI64 ? find(std::int64_t{}) : find(std::int32_t{});
}

std::int64_t first_not_finite(const Tensor& values) {
  return dispatch_float(values.dtype(), "first_not_finite", [&]<class T>(T) {
    const T* v = values.data<T>();
    return first_of(values.numel(), [=](std::int64_t i) { return !std::isfinite(load(v[i])); });
  });
}

CsrScan scan_csr(const Csr& a) {
  const auto* row_ptr = a.row_ptr.data<std::int64_t>();
  const auto* col = a.col.data<std::int32_t>();
  const std::int64_t edges = a.col.numel();
  const std::int64_t bad_col =
      first_of(edges, [=](std::int64_t e) { return col[e] < 0 || col[e] >= a.cols; });
  const std::int64_t bad_row_ptr = first_of(a.rows + 1, [=](std::int64_t i) {
    return row_ptr[i] < (i > 0 ? row_ptr[i - 1] : 0) || (i == 0 && row_ptr[i] != 0) ||
           (i == a.rows && row_ptr[i] != edges);
  });
  // All neighbours, and those of them that are in different rows. Scanning the rows one by one would read
  // out of bounds where row_ptr is invalid.
  std::int64_t descents = 0, repeats = 0, descents_between = 0, repeats_between = 0;
#pragma omp parallel for reduction(+ : descents, repeats) if (edges > kSerial)
  for (std::int64_t e = 1; e < edges; ++e) descents += col[e - 1] > col[e], repeats += col[e - 1] == col[e];
#pragma omp parallel for reduction(+ : descents_between, repeats_between) if (a.rows > kSerial)
  for (std::int64_t i = 0; i < a.rows; ++i) {
    const std::int64_t at = row_ptr[i];
    if (at <= 0 || at >= edges || at >= row_ptr[i + 1]) continue;
    descents_between += col[at - 1] > col[at], repeats_between += col[at - 1] == col[at];
  }
  return {bad_row_ptr, bad_col, descents == descents_between, repeats != repeats_between};
}

}  // namespace rodeo::kernels::cpu
