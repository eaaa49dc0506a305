#include "ops/sparse/spmm_reduce.h"

#include <algorithm>
#include <limits>

#include "core/cuda_graph.h"
#include "ops/convert.h"
#include "ops/dense.h"
#include "ops/kernels/sparse.h"
#include "ops/scale_rows.h"
#include "ops/sparse/derived.h"
#include "ops/sparse/graph_plans.h"
#include "ops/sparse/spmm_sum.h"

namespace rodeo {
namespace {

template <DType kType>
struct InverseLengths {
  Tensor value;  // [rows]
};

template <DType kType>
Tensor inverse_lengths(const Adjacency& adj) {
  return adj
      .cached<InverseLengths<kType>>([&] {
        // Inside a capture the array would belong to the CUDA graph and be filled at its first launch only.
        check(!is_capturing(adj.device()),
              "[spmm] the row lengths of a mean cannot be computed during CUDA graph capture: run the work "
              "once before capturing");
        const Tensor out = Tensor::empty({adj.rows()}, kType, adj.device());
        if (adj.rows() > 0) kernels::inverse_row_length.on(adj.device())(adj.csr(), out);
        return InverseLengths<kType>{out};
      })
      .value;
}

void check_supported(const Adjacency& adj, const SpmmOptions& options) {
  check(options.algorithm == SpmmAlgorithm::kAuto && options.accumulate == Accumulate::kOrdered &&
            options.rode == RodeOptions{},
        "[spmm] ", options.reduce, " has a kernel of its own: leave all other options at their defaults");
  constexpr std::int64_t kLongest = std::numeric_limits<std::int32_t>::max();
  if (adj.num_edges() <= kLongest) return;
  const std::int64_t longest = kernels::longest_row.on(adj.device())(adj.csr());
  check(longest <= kLongest, "[spmm] ", options.reduce, " takes rows of at most 2^31 - 1 edges, got ",
        longest);
}

Tensor gradient_of_x(const Adjacency& adj, const Tensor& weight, const Tensor& arg, const Tensor& dy,
                     const Shape& shape) {
  const Tensor dx = Tensor::empty(shape, dy.dtype(), dy.device());
  if (adj.num_edges() == 0) dx.fill(0);
  if (adj.num_edges() == 0 || dx.numel() == 0) return dx;
  const Transposed transposed = transpose(adj);
  kernels::spmm_minmax_dx.on(dx.device())(adj, transposed, weight, arg, dy, dx);
  return dx;
}

Tensor gradient_of_weight(const Adjacency& adj, const Tensor& arg, const Tensor& x, const Tensor& dy,
                          const Shape& shape) {
  const Tensor dweight = Tensor::empty(shape, dy.dtype(), dy.device());
  if (x.numel() == 0) dweight.fill(0);
  if (x.numel() == 0 || dweight.numel() == 0) return dweight;
  const Tensor rows = edge_rows(adj);
  kernels::spmm_minmax_dweight.on(dweight.device())(adj, rows, arg, x, dy, dweight);
  return dweight;
}

}  // namespace

Tensor mean_scale(const Adjacency& adj, DType values) {
  return values == DType::kF64 ? inverse_lengths<DType::kF64>(adj) : inverse_lengths<DType::kF32>(adj);
}

bool has_mean_scale(const Adjacency& adj, DType values) {
  return values == DType::kF64 ? adj.has_cached<InverseLengths<DType::kF64>>()
                               : adj.has_cached<InverseLengths<DType::kF32>>();
}

void refresh_mean_scale(const Adjacency& adj, DType values) {
  if (adj.rows() > 0) kernels::inverse_row_length.on(adj.device())(adj.csr(), mean_scale(adj, values));
}

Variable spmm_mean(const Adjacency& adj, const Variable& weight, const Variable& x,
                   const SpmmOptions& options) {
  check_spmm_operands(adj, weight.defined() ? weight.value() : Tensor(), x.value());
  const DType dtype = x.dtype();
  if (dtype == DType::kF16)  // a sum may overflow f16 where its mean does not
    return cast(
        spmm_mean(adj, weight.defined() ? cast(weight, DType::kF32) : weight, cast(x, DType::kF32), options),
        dtype);
  const Variable sum = spmm_sum(adj, weight, x, options);
  const Shape shape = sum.shape();
  const std::int64_t rows = adj.rows(), columns = shape.numel() / std::max<std::int64_t>(1, rows);
  return reshape(scale_rows(reshape(sum, {rows, columns}), mean_scale(adj, dtype)), shape);
}

Variable spmm_minmax(const Adjacency& adj, const Variable& weight, const Variable& x,
                     const SpmmOptions& options) {
  const Tensor w = weight.defined() ? weight.value() : Tensor();
  check_spmm_operands(adj, w, x.value());
  check_supported(adj, options);
  const Shape shape =
      x.shape().rank() == 3 ? Shape{adj.rows(), x.dim(1), x.dim(2)} : Shape{adj.rows(), x.dim(1)};
  const Tensor y = Tensor::empty(shape, x.dtype(), x.device());
  const bool recorded = grad_enabled() && (x.requires_grad() || weight.requires_grad());
  const Tensor arg = recorded ? Tensor::empty(shape, DType::kI32, x.device()) : Tensor();
  if (adj.num_edges() == 0) {
    y.fill(0);
  } else if (y.numel() > 0) {
    if (y.device().is_cuda()) rode_plan(adj);  // computed before the kernel that is timed
    const double sign = options.reduce == Reduce::kMax ? 1 : -1;
    kernels::spmm_minmax.on(y.device())(adj, sign, w, x.value(), y, arg);
  }
  const SavedTensor kept_x = weight.requires_grad() ? x.saved() : SavedTensor();
  return record("spmm", y, {weight, x}, [=, x_learns = x.requires_grad(), in = x.shape()](const Tensor& dy) {
    return std::vector{
        kept_x.defined() ? gradient_of_weight(adj, arg, kept_x.get(), dy, w.shape()) : Tensor(),
        x_learns ? gradient_of_x(adj, w, arg, dy, in) : Tensor()};
  });
}

}  // namespace rodeo
