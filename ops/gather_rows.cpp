#include "ops/gather_rows.h"

#include <limits>

#include "core/cuda_graph.h"
#include "ops/checks.h"
#include "ops/convert.h"
#include "ops/edge_sum.h"
#include "ops/index_checks.h"
#include "ops/kernels/graph.h"

namespace rodeo {
namespace {

/// [m] or [m, n]: the sums of the rows of dy that have the same index. The stable sort by index is a graph
/// whose row r has the positions of r as edges.
Tensor sum_by_index(const Tensor& dy, const Tensor& index, std::int64_t m) {
  check(!is_capturing(dy.device()),
        "[gather_rows] the gradient sorts the index, which CUDA graph capture cannot record: run it outside, "
        "or "
        "use spmm() with an Adjacency of the rows");
  const Tensor zero = Tensor::zeros(index.shape(), DType::kI64, index.device());
  const CooResult sorted = coo_to_csr(index, zero, m, 1, {.edge_ids = true});
  return edge_sum(sorted.adj, dy, sorted.edge_ids);
}
Variable sum_by_index(const Variable& dy, const Tensor& index, std::int64_t m) {
  return record("sum_by_index", sum_by_index(dy.value(), index, m), {dy},
                [index](const auto& dz) { return std::vector{gather_rows(dz, index)}; });
}

}  // namespace

Tensor gather_rows(const Tensor& x, const Tensor& index) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  check(x.defined(), "[gather_rows] x is undefined");
  check(x.rank() == 1 || x.rank() == 2, "[gather_rows] x must be [m] or [m, n], got ", x.shape());
  check(is_float(x.dtype()), "[gather_rows] x must be floating point, got ", x.dtype());
  check(index.defined() && index.rank() == 1 && index.dtype() == DType::kI64,
        "[gather_rows] index must be i64 [k]");
  check(index.device() == x.device(), "[gather_rows] index must be on ", x.device(), " as x is, got ",
        index.device());
  check(x.dim(0) <= kMost && index.numel() <= kMost,
        "[gather_rows] x and index must have at most 2^31 - 1 rows, got ", x.shape(), " and ", index.shape());
  check_indices("gather_rows", "index", index, x.dim(0));
  const Shape shape = x.rank() == 1 ? index.shape() : Shape{index.numel(), x.dim(1)};
  const Tensor y = Tensor::empty(shape, x.dtype(), x.device());
  if (y.numel() > 0) kernels::gather_rows.on(y.device())(x, {}, index, y);
  return y;
}

Variable gather_rows(const Variable& x, const Tensor& index) {
  return record("gather_rows", gather_rows(x.value(), index), {x},
                [index, m = x.dim(0)](const auto& dy) { return std::vector{sum_by_index(dy, index, m)}; });
}

}  // namespace rodeo
