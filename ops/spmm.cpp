#include "ops/spmm.h"

#include "core/error.h"
#include "ops/scale_rows.h"
#include "ops/sparse/sharded_products.h"
#include "ops/sparse/spmm_reduce.h"
#include "ops/sparse/spmm_sum.h"

namespace rodeo {
namespace {

Variable run_sharded(const ShardedRows& share, const Variable& weight, const Variable& x,
                     const SpmmOptions& options);

/// weight may be undefined. The gradients are in ops/sparse/gradients.cpp and spmm_reduce.cpp.
Variable run(const Adjacency& adj, const Variable& weight, const Variable& x, const SpmmOptions& options) {
  if (adj.is_sharded()) return run_sharded(*adj.shard(), weight, x, options);
  switch (options.reduce) {
    case Reduce::kSum:
      return spmm_sum(adj, weight, x, options);
    case Reduce::kMean:
      return spmm_mean(adj, weight, x, options);
    case Reduce::kMax:
    case Reduce::kMin:
      return spmm_minmax(adj, weight, x, options);
  }
  fail("[spmm] no such reduction: ", static_cast<int>(options.reduce));
}

/// Sums and means without edge weights are one product of the whole graph, forward and backward. Others
/// read the rows of other ranks, and add the contributions of all ranks to dX.
Variable run_sharded(const ShardedRows& share, const Variable& weight, const Variable& x,
                     const SpmmOptions& options) {
  const bool sums = options.reduce == Reduce::kSum;
  const bool means = options.reduce == Reduce::kMean && x.dtype() != DType::kF16;  // a sum may overflow f16
  const bool has_heads = x.shape().rank() != 2 || (weight.defined() && weight.shape().rank() != 1);
  if (has_heads || !(sums || means)) return run(share.rows, weight, neighbour_rows(share, x), options);
  SpmmOptions plain = options;
  plain.reduce = Reduce::kSum;
  const Variable sum = weight.defined() ? sharded_sum(share, weight, x, plain) : sharded_sum(share, x, plain);
  return sums ? sum : scale_rows(sum, mean_scale(share.rows, x.dtype()));
}

}  // namespace

Tensor spmm(const Adjacency& adj, const Tensor& x, const SpmmOptions& options) {
  if (options.reduce == Reduce::kSum && !adj.is_sharded()) return spmm_sum(adj, Tensor(), x, options);
  return run(adj, {}, Variable(x), options).value();
}

Tensor spmm(const Adjacency& adj, const Tensor& weight, const Tensor& x, const SpmmOptions& options) {
  check(weight.defined(), "[spmm] weight is undefined: leave it out for an unweighted sum");
  if (options.reduce == Reduce::kSum && !adj.is_sharded()) return spmm_sum(adj, weight, x, options);
  return run(adj, Variable(weight), Variable(x), options).value();
}

Variable spmm(const Adjacency& adj, const Variable& x, const SpmmOptions& options) {
  return run(adj, {}, x, options);
}

Variable spmm(const Adjacency& adj, const Variable& weight, const Variable& x, const SpmmOptions& options) {
  check(weight.defined(), "[spmm] weight is undefined: leave it out for an unweighted sum");
  return run(adj, weight, x, options);
}

}  // namespace rodeo
