#include "ops/row_cache.h"

#include <algorithm>
#include <numeric>

#include "ops/checks.h"
#include "ops/gather_rows.h"
#include "ops/index_checks.h"
#include "ops/kernels/graph.h"

namespace rodeo {

RowCache cache_rows(const Tensor& x, const std::vector<std::int32_t>& reads, std::int64_t count) {
  check_matrix("cache_rows", "x", x);
  const std::int64_t m = x.dim(0);
  check(std::ssize(reads) == m && count >= 0 && count <= m, "[cache_rows] x has ", m,
        " rows: reads must have as many numbers, and count must be at most that, got ", reads.size(), " and ",
        count);
  return cache_rows([&](const Tensor& index) { return gather_rows(x, index); }, reads, count, x.device());
}

RowCache cache_rows(const std::function<Tensor(const Tensor& index)>& gather,
                    const std::vector<std::int32_t>& reads, std::int64_t count, Device device) {
  const std::int64_t m = std::ssize(reads);
  check(count >= 0 && count <= m, "[cache_rows] count must be in [0, ", m, "], got ", count);
  std::vector<std::int32_t> row(reads.size());
  std::iota(row.begin(), row.end(), 0);
  const auto more = [&](std::int32_t a, std::int32_t b) {
    return reads[static_cast<std::size_t>(a)] != reads[static_cast<std::size_t>(b)]
               ? reads[static_cast<std::size_t>(a)] > reads[static_cast<std::size_t>(b)]
               : a < b;
  };
  if (count < m) std::nth_element(row.begin(), row.begin() + count, row.end(), more);
  row.resize(static_cast<std::size_t>(count));
  std::ranges::sort(row);
  std::vector<std::int32_t> slot(reads.size(), -1);
  for (std::size_t i = 0; i < row.size(); ++i)
    slot[static_cast<std::size_t>(row[i])] = static_cast<std::int32_t>(i);
  const Tensor index = Tensor::from(std::vector<std::int64_t>(row.begin(), row.end()), device);
  return {gather(index), Tensor::from(slot, device)};
}

Tensor gather_rows(const Tensor& x, const RowCache& cache, const Tensor& index) {
  if (!cache.defined()) return gather_rows(x, index);
  check_matrix("gather_rows", "x", x);
  check(index.defined() && index.rank() == 1 && index.dtype() == DType::kI64 && index.device() == x.device(),
        "[gather_rows] index must be i64 [k] on ", x.device());
  check_shape("gather_rows", "slot", cache.slot, {x.dim(0)});
  check_shape("gather_rows", "cached rows", cache.rows, {cache.rows.dim(0), x.dim(1)});
  check_beside("gather_rows", "x", x, "cached rows", cache.rows);
  check_indices("gather_rows", "index", index, x.dim(0));
  const Tensor y = Tensor::empty({index.numel(), x.dim(1)}, x.dtype(), x.device());
  if (y.numel() > 0) kernels::gather_rows.on(y.device())(x, cache, index, y);
  return y;
}

}  // namespace rodeo
