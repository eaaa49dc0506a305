/// How a form of exchange is chosen for the products of a sharded graph. The contract is in
/// ops/aggregation.h.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "ops/sparse/aggregation_forms.h"

namespace rodeo {

/// `predicted` unless another form took less than its time divided by kClearlyFaster: noise does not change
/// the choice between equals, which would change the bits of results.
constexpr double kClearlyFaster = 1.15;
Aggregation clearly_fastest(Aggregation predicted, const std::map<Aggregation, double>& timed);

/// The form of one product, which run(form) computes. The same on all ranks: predictions and times are those
/// of the slowest. Frees what losing forms stored. A collective call.
const AggregationForm& choose_aggregation(const ShardedRows& shard, const AggregationProblem& problem,
                                          const std::function<void(const AggregationForm&)>& run);

/// The choices so far, a line each, and the SpMM algorithms of the graphs that forms store.
std::string explain_choices(const Adjacency& rows);

}  // namespace rodeo
