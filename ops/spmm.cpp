#include "ops/spmm.h"

#include "core/error.h"
#include "ops/all_gather.h"
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

/// Gathers the rows of all ranks, and computes those of this rank. The sum of a symmetric graph gathers dY in
/// backward and needs no transpose; else the contributions of all ranks to dX are summed.
Variable run_sharded(const ShardedRows& given, const Variable& weight, const Variable& x,
                     const SpmmOptions& options) {
  const ShardedRows share = given;
  if (!weight.defined() && share.symmetric && options.reduce == Reduce::kSum) {
    const auto product = [share, options](const Tensor& own) {
      return spmm_sum(share.rows, Tensor(), all_gather(*share.nodes, own), options);
    };
    return record("spmm", product(x.value()), {x},
                  [product](const Tensor& dy) { return std::vector{product(dy)}; });
  }
  return run(share.rows, weight, all_gather(*share.nodes, x), options);
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
