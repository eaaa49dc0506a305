/// How the products of one sharded graph are computed: the form of each (ops/aggregation_types.h), and what
/// the forms need. Cached on ShardedRows::rows.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/adjacency.h"
#include "core/dtype.h"
#include "core/node_partition.h"
#include "ops/aggregation_types.h"
#include "ops/plan/aggregation_cost.h"
#include "ops/sparse/halo.h"

namespace rodeo {

/// What is computed of the rows that ranks exchange.
enum class ProductKind {
  kExchange,           // anything else
  kSum,                // a sum without edge weights
  kConstantWeights,    // with those of set_constant_weight
  kWeightedSum,        // with others
  kAttention,          // the fused attention of GAT
  kComposedAttention,  // the same, made of other operators
};

/// A product, as far as its form depends on it. Equal on all ranks.
struct AggregationProblem {
  std::int64_t columns = 0;
  DType dtype = DType::kF32;
  ProductKind kind = ProductKind::kExchange;
  std::int64_t heads = 0;  // of attention
  int parts = 1;  // for kOverlap: attention_parts, sum_parts; 1: it cuts the edges, or does not apply

  auto operator<=>(const AggregationProblem&) const = default;
};
/// "sum of 128 columns", "attention of 8 heads of 8 columns"
std::string describe(const AggregationProblem& problem);

struct AggregationChoice {
  Aggregation form = Aggregation::kRows;
  std::string reason;                       // "predicted", "timed"
  std::map<Aggregation, double> predicted;  // ms
  std::map<Aggregation, double> timed;      // ms, of the slowest rank
};

/// Edge weights that never change (ops/sparse/constant_weight.h).
struct ConstantWeight {
  Tensor own;         // [edges of the rank]
  Tensor whole;       // [edges of Found::whole], from the first product by columns on
  Tensor transposed;  // the same in the edge order of Found::transposed, from the first gradient on
};

struct ShardPlan {
  bool planned = false;  // by plan_shard
  Aggregation wanted = Aggregation::kRows;
  std::shared_ptr<const HaloRows> halo;  // null: not used
  AggregationSizes sizes;                // of the graph; columns and element_bytes are of a product
  bool whole_fits = false;               // on every rank
  bool weighted_fits = false;            // the same with constant edge weights, and their transpose
  bool timed = false;                    // kAuto: times forms that are predicted to be close
  std::string cache;                     // the folder of AggregationCache
  struct Found {
    std::map<AggregationProblem, AggregationChoice> choices;
    Adjacency whole;       // the whole graph, from the first product by columns on
    Adjacency transposed;  // of `whole`, for constant edge weights
    std::vector<ConstantWeight> weights;
    Adjacency local, remote;  // the rank's rows: columns of its own nodes, and of others; from kOverlap on
  };
  std::shared_ptr<Found> found = std::make_shared<Found>();
};

/// A collective call, once.   timed, cache: see ShardPlan.
void plan_shard(const ShardedRows& share, Aggregation wanted, bool timed, const std::string& cache);
/// kRows where plan_shard was not called.
const ShardPlan& shard_plan(const ShardedRows& share);
const ShardPlan& shard_plan(const Adjacency& rows);

/// The value of each rank. A collective call.
std::vector<double> of_ranks(const ShardedRows& share, double own);

/// Why a form that was asked for was not taken for some product, as one sentence; else empty.
std::string shard_note(const Adjacency& rows);
/// The choices so far, a line each, and the SpMM algorithms of the whole graph.
std::string explain_shard(const Adjacency& rows);

}  // namespace rodeo
