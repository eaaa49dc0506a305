#include "ops/spmm.h"

#include "core/error.h"
#include "ops/sparse/spmm_reduce.h"
#include "ops/sparse/spmm_sum.h"

namespace rodeo {
namespace {

/// weight may be undefined. The gradients are in ops/sparse/gradients.cpp and spmm_reduce.cpp.
Variable run(const Adjacency& adj, const Variable& weight, const Variable& x, const SpmmOptions& options) {
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

}  // namespace

Tensor spmm(const Adjacency& adj, const Tensor& x, const SpmmOptions& options) {
  if (options.reduce == Reduce::kSum) return spmm_sum(adj, Tensor(), x, options);
  return run(adj, {}, Variable(x), options).value();
}

Tensor spmm(const Adjacency& adj, const Tensor& weight, const Tensor& x, const SpmmOptions& options) {
  check(weight.defined(), "[spmm] weight is undefined: leave it out for an unweighted sum");
  if (options.reduce == Reduce::kSum) return spmm_sum(adj, weight, x, options);
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
