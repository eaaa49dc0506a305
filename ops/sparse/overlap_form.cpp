// The exchange of rows overlaps with the product: on CUDA the rows of other ranks arrive on a second stream.
// A symmetric sum without edge weights multiplies the columns of the rank's own nodes meanwhile
// (split_sum.h). Other sums and fused attention are pipelined over blocks of columns or heads
// (pipelined_sum.h, pipelined_attention.h).
#include <algorithm>

#include "ops/sparse/aggregation_forms.h"
#include "ops/sparse/pipelined_attention.h"
#include "ops/sparse/pipelined_sum.h"
#include "ops/sparse/split_sum.h"

namespace rodeo {
namespace {

/// The part of the exchange that a product of `hiding_ms` does not hide: the exchange takes some
/// multiprocessors from it.
double shown_ms(double exchange_ms, double hiding_ms) {
  constexpr double kTaken = 0.15;
  return std::max(kTaken * exchange_ms, exchange_ms - hiding_ms);
}

/// All blocks but the first arrive meanwhile. Own rows are cut into blocks, results are joined.
AggregationTime pipelined_cost(AggregationTime rows, const AggregationSizes& sizes, double copy_ms,
                               const AggregationRates& rates) {
  const int blocks = sizes.blocks;
  rows.product_ms += (blocks - 1) * static_cast<double>(sizes.edges) / sizes.ranks *
                     static_cast<double>(sizes.weight_bytes) / rates.copy_bytes;
  const double first = rows.exchange_ms / blocks, rest = 1 - 1.0 / blocks;
  rows.exchange_ms =
      first + rest * shown_ms(rows.exchange_ms, rows.product_ms) + (blocks - 1) * rates.exchange_ms + copy_ms;
  return rows;
}

/// The sums of both products are written, read and added.
AggregationTime split_cost(AggregationTime rows, const AggregationSizes& sizes, double copy_ms) {
  rows.exchange_ms = shown_ms(rows.exchange_ms, rows.product_ms / sizes.ranks);
  rows.product_ms += copy_ms;
  return rows;
}

AggregationTime cost(const AggregationSizes& sizes, const AggregationRates& rates) {
  const double nodes = static_cast<double>(sizes.nodes), local = nodes / sizes.ranks;
  const AggregationTime rows = gathered_cost(sizes, nodes - local, rates);
  if (sizes.ranks == 1 || (sizes.heads > 0 && sizes.blocks == 1)) return rows;
  const double copy_ms = 4 * local * row_bytes(sizes, static_cast<double>(sizes.columns)) / rates.copy_bytes;
  return sizes.blocks > 1 ? pipelined_cost(rows, sizes, copy_ms, rates) : split_cost(rows, sizes, copy_ms);
}

bool supports(const AggregationProblem& problem, bool symmetric) {
  return problem.blocks > 1 || (problem.kind == ProductKind::kSum && symmetric);
}

/// A split sum stores the rank's rows twice.
bool is_candidate(const ShardedRows& shard, const AggregationProblem& problem) {
  return problem.blocks > 1 || shard_plan(shard).fits(1);
}

Variable sum(const ShardedRows& shard, const Variable& weight, const Variable& x,
             const SpmmOptions& options) {
  if (shard.symmetric && !weight.defined()) return split_sum(shard, x, options);
  return pipelined_sum(shard, weight, x, options);
}

void release(const Adjacency& rows, const AggregationChoices& choices) {
  if (!is_chosen(choices, Aggregation::kOverlap)) release_split_rows(rows);
}

}  // namespace

extern constinit const AggregationForm kOverlapForm{
    .form = Aggregation::kOverlap,
    .cost = cost,
    .supports = supports,
    .supported =
        "sums and means without edge weights of symmetric graphs, and for other sums and fused "
        "attention in at least two blocks of 128 bytes a row",
    .rows_otherwise = true,
    .is_candidate = is_candidate,
    .gpus_only = true,
    .sum = sum,
    .attention = pipelined_attention,
    .graphs = split_rows,
    .release = release};

}  // namespace rodeo
