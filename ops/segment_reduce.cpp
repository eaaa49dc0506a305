#include "ops/segment_reduce.h"

#include <limits>

#include "core/cuda_graph.h"
#include "ops/checks.h"
#include "ops/convert.h"
#include "ops/dense.h"
#include "ops/edge_sum.h"
#include "ops/gather_rows.h"
#include "ops/id_ranges.h"
#include "ops/kernels/graph.h"
#include "ops/kernels/sparse.h"
#include "ops/scale_rows.h"
#include "ops/sparse/graph_plans.h"

namespace rodeo {
namespace {

constexpr std::string_view kOp = "segment_reduce";

/// The segments as a graph: row s has the rows of x in segment s as columns.
Adjacency segment_graph(const Tensor& x, const Tensor& offsets) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  check(x.defined(), "[", kOp, "] x is undefined");
  check(x.rank() == 1 || x.rank() == 2, "[", kOp, "] x must be [rows] or [rows, n], got ", x.shape());
  check(is_float(x.dtype()), "[", kOp, "] x must be floating point, got ", x.dtype());
  check(offsets.defined() && offsets.rank() == 1 && offsets.dtype() == DType::kI64 && offsets.numel() >= 1,
        "[", kOp, "] offsets must be i64 [segments + 1]");
  check(offsets.device() == x.device(), "[", kOp, "] offsets must be on ", x.device(), " as x is, got ",
        offsets.device());
  const std::int64_t rows = x.dim(0), segments = offsets.numel() - 1;
  check(rows <= kMost && segments <= kMost, "[", kOp, "] rows and segments must be at most 2^31 - 1, got ",
        rows, " and ", segments);
  check(
      !is_capturing(x.device()), "[", kOp,
      "] offsets are checked, which CUDA graph capture cannot record: run it outside, or use spmm() with an "
      "Adjacency of the segments");
  const Tensor ids = Tensor::empty({rows}, DType::kI32, x.device());
  number_ids({}, 0, 1, ids);
  const Csr csr{segments, rows, offsets, ids};
  if (const std::int64_t at = kernels::scan_csr.on(ids.device())(csr).bad_row_ptr; at >= 0)
    fail("[", kOp, "] offsets must rise from 0 to the number of rows, ", rows, ", but offsets[", at, "] is ",
         offsets.slice(at, at + 1).to_vector<std::int64_t>()[0]);
  return Adjacency::trusted(csr);
}

Shape reduced_shape(const Adjacency& segments, const Tensor& x) {
  return x.rank() == 1 ? Shape{segments.rows()} : Shape{segments.rows(), x.dim(1)};
}

/// x[s] / the number of rows of segment s; x has one row a segment.
template <typename T>
T divide_by_lengths(const Adjacency& segments, const T& x) {
  const std::int64_t n = x.shape().rank() == 1 ? 1 : x.dim(1);
  const Tensor inverse = Tensor::empty({segments.rows()}, sum_dtype(x.dtype()), x.device());
  if (inverse.numel() > 0) kernels::inverse_row_length.on(x.device())(segments.csr(), inverse);
  return reshape(scale_rows(reshape(x, {segments.rows(), n}), inverse), x.shape());
}

// dx[r] = dy[s], divided by the length of s for a mean.
Variable sum_or_mean(const Adjacency& segments, const Variable& x, bool mean) {
  const DType dtype = x.dtype();
  Tensor y;
  if (mean)  // 16-bit sums may overflow where the mean does not
    y = divide_by_lengths(segments, edge_sum(segments, x.value().to(sum_dtype(dtype)))).to(dtype);
  else
    y = edge_sum(segments, x.value());
  return record("segment_reduce", y, {x}, [=](const auto& dy) {
    const Tensor segment = edge_rows(segments).to(DType::kI64);
    return std::vector{gather_rows(mean ? divide_by_lengths(segments, dy) : dy, segment)};
  });
}

// dx[r, j] = dy[s, j] at the row that y[s, j] came from.
Variable extremum(const Adjacency& segments, const Variable& x, double sign) {
  const Shape shape = reduced_shape(segments, x.value());
  const Tensor y = Tensor::empty(shape, x.dtype(), x.device());
  const bool recorded = grad_enabled() && x.requires_grad();
  const Tensor arg = recorded ? Tensor::empty(shape, DType::kI32, x.device()) : Tensor();
  if (segments.num_edges() == 0) {
    y.fill(0);
  } else if (y.numel() > 0) {
    if (y.device().is_cuda()) rode_plan(segments);  // computed before the kernel that is timed
    kernels::spmm_minmax.on(y.device())(segments, sign, {}, x.value(), y, arg);
  }
  return record("segment_reduce", y, {x}, [=, shape = x.shape()](const Tensor& dy) {
    const Tensor dx = Tensor::empty(shape, dy.dtype(), dy.device());
    if (dx.numel() > 0)
      kernels::segment_extremum_backward.on(dx.device())(segments.csr().row_ptr, arg, dy, dx);
    return std::vector{dx};
  });
}

}  // namespace

Variable segment_reduce(const Variable& x, const Tensor& offsets, Reduce reduce) {
  check(x.defined(), "[", kOp, "] x is undefined");
  const Adjacency segments = segment_graph(x.value(), offsets);
  switch (reduce) {
    case Reduce::kSum:
    case Reduce::kMean:
      return sum_or_mean(segments, x, reduce == Reduce::kMean);
    case Reduce::kMax:
      return extremum(segments, x, 1);
    case Reduce::kMin:
      return extremum(segments, x, -1);
  }
  fail("[", kOp, "] reduce must be kSum, kMean, kMax or kMin");
}

Tensor segment_reduce(const Tensor& x, const Tensor& offsets, Reduce reduce) {
  check(x.defined(), "[", kOp, "] x is undefined");
  return segment_reduce(Variable(x), offsets, reduce).value();
}

}  // namespace rodeo
