#include "ops/sage_concat.h"

#include "ops/checks.h"
#include "ops/combine.h"
#include "ops/convert.h"
#include "ops/kernels/dense.h"
#include "ops/sparse/spmm_reduce.h"
#include "ops/sparse/spmm_sum.h"
#include "ops/spmm.h"

namespace rodeo {
namespace {

/// [scale a | the first rows of x]; scale may be undefined.
Tensor join(const Tensor& a, const Tensor& scale, const Tensor& x) {
  const Tensor y = Tensor::empty({a.dim(0), a.dim(1) + x.dim(1)}, a.dtype(), a.device());
  if (y.numel() > 0) kernels::join_columns_scaled.on(y.device())(a, scale, x, y);
  return y;
}

Variable sums(const Adjacency& adj, const Variable& x, const SpmmOptions& options) {
  const Tensor scale = options.reduce == Reduce::kMean ? mean_scale(adj, x.dtype()) : Tensor();
  SpmmOptions plain = options;
  plain.reduce = Reduce::kSum;
  const Tensor y = join(spmm_sum(adj, Tensor(), x.value(), plain), scale, x.value());
  return record("sage_concat", y, {x}, [=, n = x.dim(1)](const Tensor& dy) {
    const Tensor dsum = Tensor::empty({dy.dim(0), n}, dy.dtype(), dy.device());
    if (dsum.numel() > 0) kernels::left_columns_scaled.on(dy.device())(dy, scale, dsum);
    const Tensor dx = spmm_sum(transpose_pattern(adj), Tensor(), dsum, plain);
    if (dsum.numel() > 0) kernels::add_right_columns.on(dy.device())(dy, dx);
    return std::vector{dx};
  });
}

}  // namespace

Variable sage_concat(const Adjacency& adj, const Variable& x, const SpmmOptions& options) {
  check(adj.defined() && adj.rows() <= adj.cols(),
        "[sage_concat] adj must be [m, nodes] with m <= nodes: the first nodes are the destinations");
  check_matrix("sage_concat", "x", x.value());
  const bool is_sum = options.reduce == Reduce::kSum;
  const bool is_mean = options.reduce == Reduce::kMean && x.dtype() != DType::kF16;  // a sum may overflow f16
  if (!adj.is_sharded() && (is_sum || is_mean)) return sums(adj, x, options);
  return concat_columns(std::vector{spmm(adj, x, options), rows(x, 0, adj.rows())});
}

}  // namespace rodeo
