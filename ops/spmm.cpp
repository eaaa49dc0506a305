#include "ops/spmm.h"

#include "core/error.h"
#include "ops/scale_rows.h"
#include "ops/sparse/rank_graph.h"
#include "ops/sparse/sharded_products.h"
#include "ops/sparse/spmm_reduce.h"
#include "ops/sparse/spmm_sum.h"

namespace rodeo {
namespace {

/// weight may be undefined. The gradients are in ops/sparse/gradients.cpp and spmm_reduce.cpp.
Variable run_on_rank(const Adjacency& adj, const Variable& weight, const Variable& x,
                     const SpmmOptions& options) {
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

/// Over ranks, sums and means of one head are one product of the whole graph, forward and backward. A sum may
/// overflow f16 where its mean does not.
bool is_sum_over_ranks(const Adjacency& adj, const Variable& weight, const Variable& x, Reduce reduce) {
  const bool scaled_sum = reduce == Reduce::kSum || (reduce == Reduce::kMean && x.dtype() != DType::kF16);
  return spans_ranks(adj) && scaled_sum && x.shape().rank() == 2 &&
         (!weight.defined() || weight.shape().rank() == 1);
}

Variable run(const Adjacency& adj, const Variable& weight, const Variable& x, const SpmmOptions& options) {
  const Adjacency& rows = rank_rows(adj);
  if (!is_sum_over_ranks(adj, weight, x, options.reduce))
    return run_on_rank(rows, weight, neighbour_rows(adj, x), options);
  SpmmOptions plain = options;
  plain.reduce = Reduce::kSum;
  const Variable sum = neighbour_sum(adj, weight, x, plain);
  return options.reduce == Reduce::kSum ? sum : scale_rows(sum, mean_scale(rows, x.dtype()));
}

}  // namespace

Tensor spmm(const Adjacency& adj, const Tensor& x, const SpmmOptions& options) {
  return run(adj, {}, Variable(x), options).value();
}

Tensor spmm(const Adjacency& adj, const Tensor& weight, const Tensor& x, const SpmmOptions& options) {
  check(weight.defined(), "[spmm] weight is undefined: leave it out for an unweighted sum");
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
