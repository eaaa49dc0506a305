// Each rank receives the rows of all others, by an all-gather, and multiplies its rows of the graph.
#include "ops/all_gather.h"
#include "ops/sparse/aggregation_forms.h"

namespace rodeo {
namespace {

AggregationTime cost(const AggregationSizes& sizes, const AggregationRates& rates) {
  const auto nodes = static_cast<double>(sizes.nodes);
  return gathered_cost(sizes, nodes - nodes / sizes.ranks, rates);
}

Variable gather(const ShardedRows& shard, const Variable& x) {
  return all_gather(*shard.nodes, x);
}

}  // namespace

extern constinit const AggregationForm kRowsForm{.form = Aggregation::kRows, .cost = cost, .gather = gather};

}  // namespace rodeo
