#include "train/task/node_model.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "datasets/hdf5_check.h"
#include "ops/aggregation.h"
#include "ops/all_gather.h"
#include "ops/combine.h"
#include "ops/convert.h"
#include "ops/segment_reduce.h"
#include "train/task/class_objective.h"
#include "train/task/graph_on_host.h"
#include "train/task/graph_task.h"
#include "train/task/link_task.h"
#include "train/task/model_registry.h"
#include "train/task/rank_share.h"
#include "train/task/trunk_model.h"

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

ModelGraph model_graph(const Graph& graph, GraphInput input, Precision precision) {
  ModelGraph out{graph.adj, {}, graph.weight.defined(), graph.attr};
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

GraphInput graph_input(const TrainOptions& options) {
  const GraphInput input = traits_of(options).graph;
  if (input == GraphInput::kPlain && options.sage_loops) return GraphInput::kSelfLoops;
  return input == GraphInput::kSelfLoops && !options.self_loops ? GraphInput::kPlain : input;
}

/// Edge weights of the dataset are not trained.
void keep_constant(const GcnGraph& graph) {
  if (graph.weight.defined()) set_constant_weight(graph.adj, graph.weight);
}

/// The rank's rows of a graph on the host.
ModelGraph rank_share(const ModelGraph& graph, const std::shared_ptr<const NodePartition>& nodes,
                      Device device, Aggregation form) {
  ModelGraph share{shard(graph.adj, nodes, device, form), {}, graph.weighted, {}};
  const auto own = [&](const Tensor& x, std::int64_t begin, std::int64_t end) {
    return x.defined() ? x.slice(begin, end).clone().to(device) : x;
  };
  const std::int64_t begin = nodes->first_row(), end = begin + nodes->num_rows();
  const auto* row_ptr = graph.adj.csr().row_ptr.data<std::int64_t>();
  if (graph.normalized.adj.defined())
    share.normalized = {share.adj, own(graph.normalized.weight, row_ptr[begin], row_ptr[end]),
                        own(graph.normalized.scale, begin, end)};
  keep_constant(share.normalized);
  return share;
}

/// The same from the rank's rows.
ModelGraph rank_share(const EdgeShare& share, GraphInput input, const TrainOptions& options, Device device) {
  const EdgeShare rows = input == GraphInput::kPlain ? share : with_self_loops(share);
  Csr csr = rows.rows;
  csr.row_ptr = csr.row_ptr.to(device), csr.col = csr.col.to(device);
  ModelGraph out{Adjacency::sharded(csr, share.nodes, share.symmetric), {}, share.weight.defined(), {}};
  prepare_shard(out.adj, options.aggregation);
  if (input == GraphInput::kGcnNorm) {
    const Tensor scale = inverse_sqrt_degrees(Adjacency::trusted(rows.rows), rows.weight);
    out.normalized = {out.adj, rows.weight.to(device).to(activation_dtype(options.precision)),
                      scale.to(device)};
    keep_constant(out.normalized);
  }
  return out;
}

/// load(prepare, over) returns the task after it has called prepare(graph).
template <class Load>
NodeRun build_run(const TrainOptions& options, Device device, const Communicator& all, Load&& load,
                  Adjacency* plain = nullptr) {
  const Communicator ranks = options.batch > 0 ? Communicator() : all;  // that cut the graph
  const ModelEntry& entry = find_model(options.model);
  NodeRun run;
  ModelGraph graph;
  RankRun over{ranks, 0, {}, {}, {}, {}};
  const bool is_shared = ranks.size() > 1;
  const auto prepare = [&](const Graph& from) {
    graph = model_graph(from, graph_input(options), options.precision);
    if (!is_shared && from.adj.device() != device) graph = graph_on_host(graph, from, device);
    if (plain) *plain = from.adj;
    if (!is_shared) return;
    const Tensor& row_ptr = graph.adj.csr().row_ptr;
    over.partition =
        partition_nodes({row_ptr.data<std::int64_t>(), static_cast<std::size_t>(row_ptr.numel())},
                        over.dense_features, ranks);
    graph = rank_share(graph, over.partition, device, options.aggregation);
  };
  over.prepare = [&](const EdgeShare& share) {
    over.partition = share.nodes;
    graph = rank_share(share, graph_input(options), options, device);
  };
  run.task = load(prepare, is_shared ? &over : nullptr);
  if (options.batch > 0) run.task.ranks = all;
  run.model = (uses_trunk(options) ? make_trunk : entry.make)(options, run.task, graph);
  run.model.adj = is_shared ? graph.adj.shard()->rows : graph.adj;
  run.model.algorithms += fmt::format(", precision {}", name(options.precision));
  if (run.task.x.is_sparse()) run.model.algorithms += ", features sparse";
  return run;
}

/// Labels and masks that a NodeTask needs and a model of embeddings does not read.
void set_placeholders(Dataset& dataset, std::int64_t columns) {
  const Tensor nobody = Tensor::zeros({0}, DType::kI64);
  dataset.num_classes = columns;
  dataset.class_names.clear();
  dataset.y = Tensor::zeros({dataset.num_nodes}, DType::kI64);
  dataset.split = {nobody, nobody, nobody};
}

/// `graph`: of the messages, as the dataset has it.
NodeRun build_link_run(Dataset dataset, const TrainOptions& options, Device device, Adjacency* graph,
                       const Communicator& ranks = {}) {
  set_placeholders(dataset, options.embedding);
  NodeRun run = build_run(
      options, device, ranks,
      [&](const auto& prepare, RankRun* over) {
        return make_task(std::move(dataset), options, device, prepare, over);
      },
      graph);
  if (run.task.partition)
    run.model.forward = [nodes = run.task.partition, own = std::move(run.model.forward)] {
      return all_gather(*nodes, own());
    };
  add_decoder(run.model, options, device);
  return run;
}

NodeRun make_link_run(Dataset dataset, const EdgeSplit& file, const TrainOptions& options, Device device,
                      const Communicator& ranks = {}) {
  const EdgeSplit split = take_edge_split(
      dataset, file, {.parts = options.edge_split, .symmetrize = options.undirected, .seed = options.seed});
  check_same_data({split.train.src, split.train.dst, split.val.src, split.val.dst, split.test.src,
                   split.test.dst, split.val_negative.src, split.test_negative.src},
                  ranks);
  Adjacency graph;
  NodeRun run = build_link_run(std::move(dataset), options, device, &graph, ranks);
  add_link_objective(run, split, graph.to(device), options);
  return run;
}

NodeRun load_link_run(const TrainOptions& options, Device device, const Communicator& ranks) {
  check_hdf5_file(options.dataset);
  Dataset dataset;
  EdgeSplit file;
  const double load_ms = timed(kCpu, [&] {
    dataset = load_dataset(options.dataset);
    file = load_edge_split(options.dataset, dataset.num_nodes);
  });
  check(dataset.has_features(), options.dataset,
        ": /x is missing: training needs features [nodes, features]");
  NodeRun run = make_link_run(std::move(dataset), file, options, device, ranks);
  run.task.load_ms = load_ms;
  return run;
}

}  // namespace

NodeRun load_run(const TrainOptions& options, Device device, const Communicator& ranks) {
  if (ranks.size() > 1) check_rank_options(options);
  if (options.task == TaskKind::kLink) return load_link_run(options, device, ranks);
  if (options.task == TaskKind::kGraph) return load_graph_run(options, device, ranks);
  NodeRun run = build_run(options, device, ranks, [&](const auto& prepare, RankRun* over) {
    return load_task(options, device, prepare, over, ranks);
  });
  add_class_objective(run, options);
  return run;
}

NodeRun make_run(Dataset dataset, const TrainOptions& options, Device device, const Communicator& ranks) {
  if (ranks.size() > 1) check_rank_options(options);
  if (options.task == TaskKind::kLink) return make_link_run(std::move(dataset), {}, options, device, ranks);
  if (options.task == TaskKind::kGraph) return make_graph_run(std::move(dataset), options, device, ranks);
  NodeRun run = build_run(options, device, ranks, [&](const auto& prepare, RankRun* over) {
    return make_task(std::move(dataset), options, device, prepare, over, ranks);
  });
  add_class_objective(run, options);
  return run;
}

NodeRun make_run(Dataset dataset, const EdgeSplit& edges, const TrainOptions& options, Device device,
                 const Communicator& ranks) {
  if (ranks.size() > 1) check_rank_options(options);
  return make_link_run(std::move(dataset), edges, options, device, ranks);
}

NodeRun make_prediction_run(Dataset dataset, const TrainOptions& options, Device device) {
  if (options.task == TaskKind::kLink) return build_link_run(std::move(dataset), options, device, nullptr);
  if (options.task == TaskKind::kGraph) return make_graph_prediction_run(std::move(dataset), options, device);
  return build_run(options, device, {}, [&](const auto& prepare, RankRun* over) {
    return make_task(std::move(dataset), options, device, prepare, over);
  });
}

TrainerOptions trainer_options(const TrainOptions& options) {
  return {.epochs = options.epochs,
          .eval_every = options.eval_every,
          .patience = options.patience,
          .stop_on_loss = options.stop_on_loss,
          .cuda_graph = options.cuda_graph,
          .schedule = options.schedule,
          .clip_norm = options.clip_norm,
          .stop_at_nan = options.stop_at_nan};
}

Trainer make_trainer(const NodeRun& run, TrainerOptions options) {
  const auto& [task, model] = run;
  options.partition = task.partition;
  if (model.objective.loss) return {*model.module, model.objective, model.groups, options};
  options.training_rows = model.training_rows;
  options.mini_batches = model.mini_batches;
  return {*model.module, model.forward, model.groups, task.label, task.split, options};
}

}  // namespace rodeo
