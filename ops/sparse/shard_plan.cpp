#include "ops/sparse/shard_plan.h"

#include "core/text.h"

#include <algorithm>

namespace rodeo {

std::string describe(const AggregationProblem& problem) {
  const auto columns = [&] { return str(problem.columns, " columns"); };
  const auto attention = [&] {
    return str("attention of ", count_of(problem.heads, "head"), " of ",
               problem.columns / std::max<std::int64_t>(1, problem.heads), " columns");
  };
  switch (problem.kind) {
    case ProductKind::kOther:
      return "exchange of " + columns();
    case ProductKind::kSum:
      return "sum of " + columns();
    case ProductKind::kConstantWeights:
      return "sum of " + columns() + " with constant weights";
    case ProductKind::kWeightedSum:
      return "weighted sum of " + columns();
    case ProductKind::kAttention:
      return attention();
    case ProductKind::kComposedAttention:
      return "composed " + attention();
  }
  return {};
}

const ShardPlan& shard_plan(const Adjacency& rows) {
  return rows.cached<ShardPlan>([] { return ShardPlan(); });
}

const ShardPlan& shard_plan(const ShardedRows& shard) {
  return shard_plan(shard.rows);
}

std::vector<double> of_ranks(const ShardedRows& shard, double value) {
  return shard.nodes->ranks()
      .all_gather(Tensor::from(std::vector{value}, shard.rows.device()))
      .to_vector<double>();
}

std::vector<std::int64_t> edges_of_ranks(const ShardedRows& shard) {
  std::vector<std::int64_t> edges;
  for (const double count : of_ranks(shard, static_cast<double>(shard.rows.num_edges())))
    edges.push_back(static_cast<std::int64_t>(count));
  return edges;
}

}  // namespace rodeo
