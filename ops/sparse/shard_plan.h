/// How the products of one sharded graph are computed: the form of each (ops/aggregation_types.h), and what
/// the forms need. Cached on ShardedRows::rows.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "core/variable.h"
#include "ops/aggregation_types.h"
#include "ops/plan/aggregation_cost.h"
#include "ops/sparse/halo.h"
#include "ops/spmm_types.h"

namespace rodeo {

/// A product, as far as its form depends on it. Equal on all ranks.
struct AggregationProblem {
  std::int64_t columns = 0;
  DType dtype = DType::kF32;
  bool is_sum = false;  // a sum without edge weights, which has all forms

  auto operator<=>(const AggregationProblem&) const = default;
};

struct AggregationChoice {
  Aggregation form = Aggregation::kRows;
  std::string reason;                       // "predicted", "timed", "asked for"
  std::map<Aggregation, double> predicted;  // ms
  std::map<Aggregation, double> timed;      // ms, of the slowest rank
};

struct ShardPlan {
  bool planned = false;  // by plan_shard
  Aggregation wanted = Aggregation::kRows;
  std::shared_ptr<const HaloRows> halo;  // null: not used
  AggregationSizes sizes;                // of the graph; columns and element_bytes are of a product
  bool whole_fits = false;               // on every rank
  struct Found {
    std::map<AggregationProblem, AggregationChoice> choices;
    Adjacency whole;          // the whole graph, from the first product by columns on
    Adjacency local, remote;  // the rank's rows: columns of its own nodes, and of others; from kOverlap on
  };
  std::shared_ptr<Found> found = std::make_shared<Found>();
};

/// A collective call, once.
void plan_shard(const ShardedRows& share, Aggregation wanted);
/// kRows where plan_shard was not called.
const ShardPlan& shard_plan(const ShardedRows& share);

/// x [nodes of the rank, ...] -> [all nodes, ...], by rows or halo: rows that the rank's edges do not read
/// may not be initialised. Any dtype by rows, floating ones by halo. A collective call.
/// Gradient: dx is the rank's rows of the sum of dy over ranks. Deterministic.
Tensor neighbour_rows(const ShardedRows& share, const Tensor& x);
Variable neighbour_rows(const ShardedRows& share, const Variable& x);

/// A X of the whole graph without edge weights: the rank's rows.   x [nodes of the rank, n] -> the same
/// shape. A collective call. Gradient: A^T dy. Deterministic.
Tensor sharded_sum(const ShardedRows& share, const Tensor& x, const SpmmOptions& options);
Variable sharded_sum(const ShardedRows& share, const Variable& x, const SpmmOptions& options);

/// The choices so far, a line each, and the SpMM algorithms of the whole graph.
std::string explain_shard(const Adjacency& rows);

}  // namespace rodeo
