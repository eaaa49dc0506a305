#include "ops/sparse/sharded_products.h"

#include "ops/all_gather.h"
#include "ops/sparse/shapes.h"
#include "ops/sparse/spmm_sum.h"
#include "ops/sparse/whole_graph.h"

namespace rodeo {
namespace {

AggregationProblem problem_of_sum(const ShardedRows& shard, const Variable& weight, const Variable& x) {
  AggregationProblem problem{x.dim(1), x.dtype(), ProductKind::kSum};
  if (weight.defined())
    problem.kind =
        is_constant_weight(shard, weight) ? ProductKind::kConstantWeights : ProductKind::kWeightedSum;
  return problem;
}

/// The rank's rows of the graph times the gathered rows of x. A symmetric graph without edge weights is its
/// own transpose: its gradient gathers rows of dy, and no rank stores a transpose.
Variable sum_of_gathered(const AggregationForm& form, const ShardedRows& shard, const Variable& weight,
                         const Variable& x, const SpmmOptions& options) {
  if (weight.defined() || !shard.symmetric)
    return spmm_sum(shard.rows, weight, form.gather(shard, x), options);
  const auto compute = [&form, shard, options](const Tensor& of) {
    return spmm_sum(shard.rows, Tensor(), form.gather(shard, Variable(of)).value(), options);
  };
  return record("spmm", compute(x.value()), {x},
                [compute](const Tensor& dy) { return std::vector{compute(dy)}; });
}

}  // namespace

Variable neighbour_rows(const Adjacency& adj, const Variable& x) {
  const ShardedRows* shard = adj.shard();
  if (!shard) return x;
  if (!is_float(x.dtype())) return all_gather(*shard->nodes, x);
  return in_chosen_form(*shard, {row_size(edge_matrix(x.value())), x.dtype()},
                        [&](const AggregationForm& form) { return form.gather(*shard, x); });
}

Variable neighbour_sum(const Adjacency& adj, const Variable& weight, const Variable& x,
                       const SpmmOptions& options) {
  const ShardedRows* shard = adj.shard();
  if (!shard) return spmm_sum(adj, weight, x, options);
  return in_chosen_form(*shard, problem_of_sum(*shard, weight, x), [&](const AggregationForm& form) {
    return form.sum ? form.sum(*shard, weight, x, options)
                    : sum_of_gathered(form, *shard, weight, x, options);
  });
}

}  // namespace rodeo
