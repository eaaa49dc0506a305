/// How the products of one sharded graph exchange rows: what was asked for, what the choice depends on, and
/// the choices so far. Cached on ShardedRows::rows.
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

namespace rodeo {

/// What is computed from the rows of other ranks.
enum class ProductKind {
  kOther,              // whatever reads gathered rows: maxima, weights of several heads, SDDMM
  kSum,                // a sum or mean without edge weights
  kConstantWeights,    // with weights of set_constant_weight
  kWeightedSum,        // with other weights
  kAttention,          // fused attention of GAT
  kComposedAttention,  // attention of GAT made of other operators
};

/// A product, as far as its form depends on it. Equal on all ranks.
struct AggregationProblem {
  std::int64_t columns = 0;
  DType dtype = DType::kF32;
  ProductKind kind = ProductKind::kOther;
  std::int64_t heads = 0;  // of attention

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
using AggregationChoices = std::map<AggregationProblem, AggregationChoice>;

struct ShardPlan {
  bool planned = false;  // by plan_shard
  Aggregation wanted = Aggregation::kRows;
  bool timed = false;        // kAuto: times forms that are predicted to be close
  std::string cache;         // the folder of AggregationCache
  AggregationSizes sizes{};  // of the graph; columns and element_bytes are of a product
  AggregationRates rates{};
  double graph_bytes = 0;   // a CSR of the whole graph and its kernels' plans
  double memory_bytes = 0;  // of the rank with the least
  std::shared_ptr<AggregationChoices> choices = std::make_shared<AggregationChoices>();

  /// Whether so many graphs take at most an eighth of a rank's memory. Not of its free memory: the same run
  /// makes the same choice.
  bool fits(double graphs) const { return 8 * graphs * graph_bytes < memory_bytes; }
};

/// kRows where the graph was not prepared.
const ShardPlan& shard_plan(const Adjacency& rows);
const ShardPlan& shard_plan(const ShardedRows& shard);

/// The value of each rank. A collective call.
std::vector<double> of_ranks(const ShardedRows& shard, double value);
std::vector<std::int64_t> edges_of_ranks(const ShardedRows& shard);

}  // namespace rodeo
