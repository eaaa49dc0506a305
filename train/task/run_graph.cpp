#include "train/task/run_graph.h"

#include <utility>
#include <vector>

#include "core/device.h"
#include "core/over_ranks.h"
#include "core/page_locked.h"
#include "ops/aggregation.h"
#include "ops/all_gather.h"
#include "ops/all_rows.h"
#include "ops/combine.h"
#include "ops/convert.h"
#include "ops/segment_reduce.h"
#include "train/task/edge_shard.h"
#include "train/task/rank_shard.h"

namespace rodeo {
namespace {

/// Edge features of adj + I: those of an added self loop are the means over the edges of its row, as in PyG.
Tensor looped_attr(const Graph& graph, const CooResult& looped) {
  const Tensor means = segment_reduce(graph.attr, graph.adj.csr().row_ptr, Reduce::kMean);
  std::vector<std::int64_t> at = looped.edge_ids.to_vector<std::int64_t>();
  const std::vector<std::int32_t> row = edge_rows(looped.adj).to_vector<std::int32_t>();
  for (std::size_t e = 0; e < at.size(); ++e)
    if (at[e] < 0) at[e] = graph.adj.num_edges() + row[e];
  return take(concat_rows(std::vector{graph.attr, means}), Tensor::from(at, graph.attr.device()));
}

Adjacency without_edges(const Csr& csr) {
  const Device device = csr.col.device();
  return Adjacency::trusted({csr.rows, csr.cols, Tensor::zeros({csr.rows + 1}, DType::kI64, device),
                             Tensor::empty({0}, DType::kI32, device)});
}

/// The whole graph, on its device.
ModelGraph model_graph(const Graph& graph, GraphInput input, Precision precision) {
  ModelGraph out{graph.adj, {}, graph.weight.defined(), graph.attr};
  if (input == GraphInput::kNoEdges) out.adj = without_edges(graph.adj.csr());
  if (input == GraphInput::kSelfLoops) {
    const CooResult looped = add_self_loops(graph.adj);
    out.adj = looped.adj;
    if (graph.attr.defined()) out.edge_attr = looped_attr(graph, looped);
  }
  if (out.edge_attr.defined()) out.edge_attr = out.edge_attr.to(activation_dtype(precision));
  if (input == GraphInput::kGcnNorm) {
    out.normalized = gcn_norm(graph.adj, graph.weight);
    out.normalized.weight = out.normalized.weight.to(activation_dtype(precision));
    out.adj = out.normalized.adj;
  }
  return out;
}

Tensor lock(const Tensor& x, Device device) {
  if (!x.defined()) return x;
  const Tensor out = page_locked(x.shape(), x.dtype(), device);
  out.copy_from(x);
  return out;
}

/// `built` on the host from `from`, page-locked for kernels that read edges over the bus.
ModelGraph locked_on_host(const ModelGraph& built, const Graph& from, Device device) {
  const Csr& csr = built.adj.csr();
  const Csr locked{csr.rows, csr.cols, lock(csr.row_ptr, device), lock(csr.col, device)};
  ModelGraph out{Adjacency::trusted(locked), {}, built.weighted, lock(built.edge_attr, device)};
  if (!built.normalized.adj.defined()) return out;
  out.normalized.adj = out.adj;
  out.normalized.weight = lock(built.normalized.weight, device);
  // Sums and roots are the device's own: those of the host may have other bits. The weights in f32: those of
  // `built` are rounded already.
  const Tensor weight = from.weight.defined()
                            ? lock(take(from.weight, add_self_loops(from.adj).edge_ids, 1), device)
                            : Tensor();
  const Adjacency once = Adjacency::trusted(locked);  // forgets the plans of this product
  out.normalized.scale = inverse_sqrt_degrees(once, weight);
  return out;
}

/// Edge weights of the dataset are not trained.
void keep_constant(const GcnGraph& graph) {
  if (graph.weight.defined()) set_constant_weight(graph.adj, graph.weight);
}

/// The rank's rows of a graph on the host.
ModelGraph own_rows(const ModelGraph& graph, const std::shared_ptr<const NodePartition>& nodes, Device device,
                    Aggregation form) {
  ModelGraph out{shard(graph.adj, nodes, device, form), {}, graph.weighted, {}};
  const auto own = [&](const Tensor& x, std::int64_t begin, std::int64_t end) {
    return x.defined() ? x.slice(begin, end).clone().to(device) : x;
  };
  const std::int64_t begin = nodes->first_row(), end = begin + nodes->num_rows();
  const auto* row_ptr = graph.adj.csr().row_ptr.data<std::int64_t>();
  out.edge_attr = own(graph.edge_attr, row_ptr[begin], row_ptr[end]);
  if (graph.normalized.adj.defined())
    out.normalized = {out.adj, own(graph.normalized.weight, row_ptr[begin], row_ptr[end]),
                      own(graph.normalized.scale, begin, end)};
  keep_constant(out.normalized);
  return out;
}

/// The rank's rows, from which all ranks sample.   rows: on the host
ModelGraph sampled_rows(Csr rows, const std::shared_ptr<const NodePartition>& nodes, bool weighted,
                        const RunPlan& plan) {
  rows.row_ptr = rows.row_ptr.to(plan.device), rows.col = rows.col.to(plan.device);
  ModelGraph out{Adjacency::sharded(rows, nodes, /*symmetric=*/false), {}, weighted, {}};
  if (plan.graph == GraphInput::kGcnNorm)
    out.normalized = {out.adj, {}, all_gather(*nodes, inverse_sqrt_degrees(Adjacency::trusted(rows)))};
  return out;
}

/// The rank's rows from the edges that ranks exchanged.
ModelGraph own_rows(const EdgeShard& shard, const RunPlan& plan, const TrainOptions& options) {
  const EdgeShard rows = plan.graph <= GraphInput::kPlain ? shard : with_self_loops(shard);
  const Device device = plan.device;
  Csr csr = plan.graph == GraphInput::kNoEdges ? without_edges(rows.rows).csr() : rows.rows;
  if (!plan.partitioned) return sampled_rows(csr, shard.nodes, shard.weight.defined(), plan);
  csr.row_ptr = csr.row_ptr.to(device), csr.col = csr.col.to(device);
  ModelGraph out{Adjacency::sharded(csr, shard.nodes, shard.symmetric), {}, shard.weight.defined(), {}};
  prepare_shard(out.adj, options.aggregation);
  if (plan.graph == GraphInput::kGcnNorm) {
    const Tensor scale = inverse_sqrt_degrees(Adjacency::trusted(rows.rows), rows.weight);
    out.normalized = {out.adj, rows.weight.to(device).to(activation_dtype(options.precision)),
                      scale.to(device)};
    keep_constant(out.normalized);
  }
  return out;
}

bool has_room(std::int64_t bytes, Device device) {
  constexpr double kShare = 0.8;  // of free memory
  return static_cast<double>(bytes) < kShare * static_cast<double>(memory_room(device).free);
}

/// Bytes of an edge list, its sorted keys and the result. With values of edges, their positions, too.
std::int64_t sorting_bytes(std::int64_t edges, bool values, bool undirected) {
  return edges * (values ? 72 : 40) * (undirected ? 2 : 1);
}

}  // namespace

Device sorts_on(const Dataset& dataset, Device device) {
  if (!device.is_cuda() || dataset.indptr.defined()) return kCpu;
  const std::int64_t attr = dataset.edge_attr.defined() ? 8 * dataset.edge_attr.numel() : 0;
  const bool values = attr > 0 || dataset.edge_weight.defined();
  return has_room(sorting_bytes(dataset.num_edges(), values, true) + 2 * attr, device) ? device : kCpu;
}

RunGraph build_graph(Dataset& dataset, const RunPlan& plan, const TrainOptions& options,
                     const Communicator& ranks) {
  RunGraph out;
  if (plan.edges == EdgeRead::kExchanged) {
    const std::int64_t nodes = dataset.num_nodes;
    const std::int64_t of_rank = plan.data.edges / ranks.size();
    const bool lacks_room =
        !plan.device.is_cuda() ||
        !has_room(2 * sorting_bytes(of_rank, plan.data.weighted, plan.undirected), plan.device);
    const Device sorter = over_ranks(ranks, std::vector<std::int64_t>{lacks_room}, Reduction::kMax)[0] == 0
                              ? plan.device
                              : kCpu;
    const EdgeShard shard = shard_edges(load_edge_part(plan.data.where, nodes, ranks.rank(), ranks.size()),
                                        nodes, plan.undirected, plan.data.dense_features(), ranks, sorter);
    if (plan.partitioned) out.partition = shard.nodes;
    out.num_edges = shard.num_edges, out.one_way_edges = shard.one_way_edges;
    out.model = own_rows(shard, plan, options);
    return out;
  }
  const Device builds_on = plan.builds_on(),
               sorter = builds_on == plan.device ? builds_on : sorts_on(dataset, plan.device);
  Graph graph = to_graph(dataset, sorter, {.symmetrize = plan.undirected});
  dataset.src = dataset.dst = dataset.indptr = dataset.indices = dataset.edge_weight = dataset.edge_attr = {};
  out.num_edges = graph.adj.num_edges();
  if (!plan.undirected) out.one_way_edges = count_one_way_edges(graph.adj);
  if (sorter != builds_on)
    graph = {graph.adj.to(builds_on), graph.weight.to(builds_on), graph.attr.to(builds_on)};
  if (plan.task == TaskKind::kLink) out.messages = graph.adj;
  out.model = model_graph(graph, plan.graph, options.precision);
  if (plan.cuts_graph()) {
    const Csr& whole = out.model.adj.csr();
    const auto nodes =
        partition_nodes({whole.row_ptr.data<std::int64_t>(), static_cast<std::size_t>(whole.row_ptr.numel())},
                        plan.data.dense_features(), ranks);
    if (plan.partitioned) out.partition = nodes;
    out.model = plan.partitioned ? own_rows(out.model, nodes, plan.device, options.aggregation)
                                 : sampled_rows(cut_graph(out.model.adj, nodes).shard()->rows.csr(), nodes,
                                                out.model.weighted, plan);
  } else if (plan.builds_on() != plan.device) {
    out.model = locked_on_host(out.model, graph, plan.device);
  }
  return out;
}

}  // namespace rodeo
