#include "ops/aggregation.h"

#include <vector>

#include "core/cache_folder.h"
#include "ops/checks.h"
#include "ops/convert.h"
#include "ops/sparse/aggregation_choice.h"
#include "ops/sparse/exchange_rates.h"
#include "ops/sparse/rank_graph.h"
#include "ops/sparse/row_order.h"
#include "ops/sparse/whole_graph.h"

namespace rodeo {

Adjacency shard(const Adjacency& graph, const std::shared_ptr<const NodePartition>& nodes, Device device,
                Aggregation form) {
  const Csr& all = graph.csr();
  check(nodes && all.rows == all.cols && all.rows == nodes->num_nodes() && !graph.device().is_cuda(),
        "[shard] the graph must be square, on the host, with the nodes of the partition, got ", all.rows,
        " x ", all.cols, " on ", graph.device());
  const auto* begin = all.row_ptr.data<std::int64_t>() + nodes->first_row();
  std::vector<std::int64_t> row_ptr(begin, begin + nodes->num_rows() + 1);
  const std::int64_t first = row_ptr.front(), last = row_ptr.back();
  for (std::int64_t& at : row_ptr) at -= first;
  const Csr rows{nodes->num_rows(), all.cols, Tensor::from(row_ptr, device),
                 all.col.slice(first, last).clone().to(device)};
  const Adjacency sharded = Adjacency::sharded(rows, nodes, transpose_pattern(graph) == graph);
  prepare_shard(sharded, form);
  return sharded;
}

void prepare_shard(const Adjacency& adj, Aggregation form) {
  const ShardedRows& shard =
      require_shard(adj, "[prepare_shard] the graph must be sharded over ranks: see Adjacency::sharded");
  order_shard(shard);
  // On the CPU a choice is predicted, from rates that never change.
  const Device device = shard.rows.device();
  const bool timed = device.is_cuda();
  const bool chooses = timed && form == Aggregation::kAuto;
  plan_shard(shard, form, timed, cache_folder(),
             chooses ? measured_rates(shard.nodes->ranks(), device, cache_folder()) : AggregationRates());
}

void set_constant_weight(const Adjacency& adj, const Tensor& weight) {
  constexpr std::string_view kUnprepared =
      "[set_constant_weight] the graph must be sharded over ranks and prepared: see prepare_shard";
  const ShardedRows& shard = require_shard(adj, kUnprepared);
  check(shard_plan(shard).planned, kUnprepared);
  check_shape("set_constant_weight", "weight", weight, {shard.rows.num_edges()});
  check(is_float(weight.dtype()), "[set_constant_weight] weight must be floating, got ", weight.dtype());
  check_on_device_of("set_constant_weight", shard.rows, "weight", weight);
  keep_constant_weight(shard, weight);
}

std::string explain_aggregation(const Adjacency& adj) {
  return explain_choices(rank_rows(adj));
}

}  // namespace rodeo
