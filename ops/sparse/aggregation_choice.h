/// How a form is chosen for the products of a sharded graph. The contract is in ops/aggregation.h.
#pragma once

#include <functional>
#include <map>

#include "ops/sparse/shard_plan.h"

namespace rodeo {

/// `predicted` unless another form took less than its time divided by kClearlyFaster: noise does not change
/// the choice between equals, which would change the bits of results.
constexpr double kClearlyFaster = 1.15;
Aggregation clearly_fastest(Aggregation predicted, const std::map<Aggregation, double>& timed);

/// The form of one product, which run(form) computes. The same on all ranks: predictions and times are those
/// of the slowest. Frees what losing forms stored. A collective call.
Aggregation choose_aggregation(const ShardedRows& share, const AggregationProblem& problem,
                               const std::function<void(Aggregation)>& run);

}  // namespace rodeo
