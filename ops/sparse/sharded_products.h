/// Products that read rows of other ranks where a graph spans ranks, each in the form that is chosen for it
/// (aggregation_choice.h). On one rank they are what the name says of the graph itself. All of them are
/// collective calls, recorded and deterministic.
#pragma once

#include "core/adjacency.h"
#include "core/node_partition.h"
#include "core/variable.h"
#include "ops/sparse/aggregation_choice.h"
#include "ops/spmm_types.h"

namespace rodeo {

/// x [nodes of the rank, ...] -> [all nodes, ...], of any dtype: the rows that the rank's edges read; others
/// may not be initialised. Gradient: the rank's rows of the sum of dy over ranks. x itself on one rank.
Variable neighbour_rows(const Adjacency& adj, const Variable& x);

/// A X.   weight [edges of the rank], or undefined; x [nodes of the rank, n] -> the same shape.
Variable neighbour_sum(const Adjacency& adj, const Variable& weight, const Variable& x,
                       const SpmmOptions& options);

/// run(form) for the form that is chosen for a product. Candidates are timed with it where times decide.
template <class Run>
Variable in_chosen_form(const ShardedRows& shard, const AggregationProblem& problem, const Run& run) {
  return run(choose_aggregation(shard, problem, [&](const AggregationForm& form) {
    const NoGrad off;
    run(form);
  }));
}

}  // namespace rodeo
