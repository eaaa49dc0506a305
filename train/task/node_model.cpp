#include "train/task/node_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/device.h"
#include "datasets/hdf5_check.h"
#include "datasets/subset.h"
#include "ops/all_gather.h"
#include "train/task/counted.h"
#include "train/task/criteria.h"
#include "train/task/data_source.h"
#include "train/task/graph_task.h"
#include "train/task/hetero_task.h"
#include "train/task/label_checks.h"
#include "train/task/link_task.h"
#include "train/task/rank_shard.h"
#include "train/task/run_features.h"
#include "train/task/run_graph.h"
#include "train/task/trunk_model.h"

namespace rodeo {
namespace {

enum class Purpose { kTraining, kPrediction };

/// --split of a dataset in memory; load_dataset() does it for a file.
void choose_split(Dataset& dataset, const TrainOptions& options) {
  if (options.split.empty()) {
    const auto& [train, val, test] = dataset.split;
    check(train.defined() && val.defined() && test.defined(), dataset.name,
          ": has no masks: training needs them, or a split such as 60/20/20");
    return;
  }
  if (options.split.find('/') != std::string::npos) {
    dataset.split = random_split(dataset.y, options.split, options.seed);
    return;
  }
  std::size_t index = 0;
  while (index < dataset.splits.size() && options.split != std::to_string(index)) ++index;
  check(index < dataset.splits.size(), "--split must be percentages such as 60/20/20, or one of the ",
        dataset.splits.size(), " splits of ", dataset.name, ", counted from 0, got ", options.split);
  dataset.split = dataset.splits[index];
}

/// Takes the validation and test edges out of the dataset.
EdgeSplit split_edges(Dataset& dataset, const DataSource& source, const TrainOptions& options, Device device,
                      const Communicator& ranks) {
  const EdgeSplit given =
      source.in_file() ? load_edge_split(source.file, dataset.num_nodes) : source.edge_split;
  const EdgeSplit split = take_edge_split(dataset, given,
                                          {.parts = options.edge_split,
                                           .symmetrize = options.undirected,
                                           .seed = options.seed,
                                           .sort_on = sorts_on(dataset, device)});
  check_same_data({split.train.src, split.train.dst, split.val.src, split.val.dst, split.test.src,
                   split.test.dst, split.val_negative.src, split.test_negative.src},
                  ranks);
  return split;
}

/// Labels and masks that a NodeTask needs and a model of embeddings, or one that predicts, does not read.
void set_placeholders(Dataset& dataset, std::int64_t columns) {
  const Tensor nobody = Tensor::zeros({0}, DType::kI64);
  dataset.num_classes = columns;
  dataset.class_names.clear();
  dataset.y = Tensor::zeros({dataset.num_nodes}, DType::kI64);
  dataset.split = {nobody, nobody, nobody};
}

/// The nodes of some pairs, ascending: i64, on the host.
Tensor nodes_of(const NodePairs& pairs) {
  std::vector<std::int64_t> nodes = pairs.src.to_vector<std::int64_t>();
  for (const std::int64_t node : pairs.dst.to_vector<std::int64_t>()) nodes.push_back(node);
  return Tensor::from(sorted_unique(std::move(nodes)));
}

void reorder(Dataset& dataset, const TrainOptions& options, Device device, NodeTask& task) {
  constexpr std::int64_t kWindow = 1024;
  const double before = near_edges(dataset, kWindow);
  task.reorder_ms = timed(kCpu, [&] {
    task.order = node_order(dataset, options.reorder, options.undirected, sorts_on(dataset, device));
    dataset = select_nodes(dataset, task.order);
  });
  task.reorder = fmt::format("{}, edges within 1,024 places {:.1f} % -> {:.1f} %", name(options.reorder),
                             100 * before, 100 * near_edges(dataset, kWindow));
}

/// Sizes, names and the majority of the whole dataset.
void describe_data(const Dataset& dataset, const RunGraph& graph, const TrainOptions& options,
                   NodeTask& task) {
  task.name = dataset.name;
  task.num_nodes = dataset.num_nodes;
  task.num_edges = graph.num_edges, task.one_way_edges = graph.one_way_edges;
  task.num_classes = dataset.num_classes;
  task.class_names = dataset.class_names;
  task.split_sizes = dataset.split.sizes();
  if (options.edge_features) task.num_edge_features = graph.model.edge_attr.dim(1);
  find_majority(dataset.y, dataset.split.test, task);
  const bool graphs = options.task == TaskKind::kGraph;
  task.warnings = check_label_kind(dataset.y, graphs ? "graphs" : "nodes", graphs ? "/graph_y" : "/y");
  if (task.one_way_edges > 0 && traits_of(options).graph != GraphInput::kNoEdges)
    task.warnings.push_back(fmt::format(
        "the graph is not symmetric: {} of {} edges ({:.3g} %) have no reverse edge. Messages go from source "
        "to destination only; unless that is meant, --undirected adds the missing direction",
        task.one_way_edges, task.num_edges,
        100 * static_cast<double>(task.one_way_edges) / static_cast<double>(task.num_edges)));
}

NodeModel build_model(const TrainOptions& options, const NodeTask& task, const ModelGraph& graph,
                      const Tensor& graph_ptr) {
  NodeModel model = options.task == TaskKind::kGraph ? make_graph_model(options, task, graph, graph_ptr)
                                                     : make_model(options, task, graph);
  model.adj = graph.adj.is_sharded() ? graph.adj.shard()->rows : graph.adj;
  model.algorithms += fmt::format(", precision {}", name(options.precision));
  if (task.x.is_sparse()) model.algorithms += ", features sparse";
  return model;
}

/// Carries out the plan of a run.
NodeRun build_run(DataSource source, RunPlan plan, const TrainOptions& options, const Communicator& ranks,
                  Purpose purpose) {
  const Device device = plan.device;
  const bool links = plan.task == TaskKind::kLink, graphs = plan.task == TaskKind::kGraph;
  if (graphs) plan.graph = traits_of(options).graph;
  NodeRun run;
  NodeTask& task = run.task;
  Dataset dataset;
  EdgeSplit pairs;
  RunGraph graph;
  while (!graph.model.adj.defined()) try {
      task.load_ms = timed(kCpu, [&] { dataset = read_dataset(source, plan, options, ranks); });
      if (links && purpose == Purpose::kTraining)
        pairs = split_edges(dataset, source, options, device, ranks);
      if (purpose == Purpose::kTraining) add_input_features(dataset, options);
      if (graphs) use_graphs(dataset, options, purpose == Purpose::kTraining, ranks);
      if (links) set_placeholders(dataset, options.embedding);
      if (links && options.batch > 0 && pairs.train.src.defined()) {
        dataset.split.train = nodes_of(pairs.train);
        dataset.split.val = counted(dataset.num_nodes);  // pairs are of any nodes
      }
      if (plan.order != NodeOrder::kNone) reorder(dataset, options, device, task);
      reset_peak_memory(device);
      task.convert_ms = timed(device, [&] { graph = build_graph(dataset, plan, options, ranks); });
    } catch (const OutOfMemory&) {
      if (!source.in_file() || plan.tiers.size() == 1) throw;
      dataset = {};
      synchronize(device);
      plan.tiers.erase(plan.tiers.begin());
    }
  task.convert_ms += timed(device, [&] {
    describe_data(dataset, graph, options, task);
    task.partition = graph.partition;
    if (task.partition) dataset = rank_shard(std::move(dataset), *task.partition);
    if (graphs)
      add_graph_features(task, dataset, options, device);
    else
      add_features(task, dataset, plan, options, ranks);
    task.num_features = dataset.num_features;
    task.label = dataset.y.to(device);
    task.split = dataset.split.to(device);
  });
  task.convert_peak_bytes = memory_stats(device).peak;
  if (!plan.partitioned) task.ranks = ranks;
  run.model = build_model(options, task, graph.model, dataset.graph_ptr);
  if (links) add_decoder(run, options);
  if (purpose == Purpose::kPrediction) return run;
  if (links)
    set_link_parts(run, {{.name = {}, .split = pairs, .graph = graph.messages.to(device)}}, options);
  else
    set_criterion(run, options);
  return run;
}

}  // namespace

RunPlan plan_source(const DataSource& source, const TrainOptions& options, Device device,
                    const Communicator& ranks) {
  if (source.in_file()) check_hdf5_file(source.file);
  const bool relations = source.in_file() && is_hetero_file(source.file);
  if (has_relations(options)) {
    check(relations, source.in_file() ? source.file : "the dataset",
          ": holds one type of nodes, and --model ", options.model,
          " is for several: choose one of gcn, gat, sage and the others");
    return {.data = {.where = source.file, .in_file = true, .form = FeatureForm::kDense},
            .device = device,
            .ranks = ranks.size(),
            .partitioned = ranks.size() > 1 && options.batch == 0,
            .undirected = options.undirected,
            .form = FeatureForm::kDense,
            .tiers = std::vector<MemoryTiers>(1)};
  }
  check(!relations, source.file, ": holds node types and relations, and --model ", options.model,
        " is for one type of nodes: choose rgcn, rgat, hgt or hetero-sage");
  const Room room = measure_room(device, ranks);
  return plan_run(options, read_header(source, options.input_features), room, ranks.size());
}

NodeRun make_run(DataSource source, const TrainOptions& options, Device device, const Communicator& ranks) {
  if (HeteroDataset& hetero = source.hetero; !hetero.types.empty()) {
    if (options.task == TaskKind::kNode)
      choose_split(hetero.types.at(static_cast<std::size_t>(hetero.target)), options);
    return make_hetero_run(std::move(hetero), options, device, ranks);
  }
  RunPlan plan = plan_source(source, options, device, ranks);
  if (has_relations(options)) {
    const Need need = options.task == TaskKind::kLink ? Need::kGraph : Need::kTraining;
    const double load_ms = timed(kCpu, [&] {
      source.hetero =
          load_hetero_dataset(source.file, {.need = need, .split = options.split, .seed = options.seed});
    });
    NodeRun run = make_hetero_run(std::move(source.hetero), options, device, ranks);
    run.task.load_ms = load_ms;
    return run;
  }
  if (!source.in_file() && plan.task == TaskKind::kNode) choose_split(source.dataset, options);
  return build_run(std::move(source), std::move(plan), options, ranks, Purpose::kTraining);
}

NodeRun load_run(const TrainOptions& options, Device device, const Communicator& ranks) {
  return make_run(DataSource{.file = options.dataset}, options, device, ranks);
}

NodeRun make_run(Dataset dataset, const TrainOptions& options, Device device, const Communicator& ranks) {
  return make_run(DataSource{.dataset = std::move(dataset)}, options, device, ranks);
}

NodeRun make_prediction_run(Dataset dataset, const TrainOptions& options, Device device) {
  add_input_features(dataset, options);
  const Tensor train = dataset.split.train;
  set_placeholders(dataset, dataset.num_classes);
  if (train.defined() && options.task == TaskKind::kNode) dataset.split.train = train;
  DataSource source{.dataset = std::move(dataset)};
  RunPlan plan = plan_source(source, options, device);
  return build_run(std::move(source), std::move(plan), options, {}, Purpose::kPrediction);
}

TrainerParts trainer_parts(const NodeRun& run) {
  const auto& [task, model] = run;
  TrainerParts parts = model.parts;
  if (task.partition)
    parts.exchange = Exchange(task.partition);
  else if (task.ranks.size() > 1)
    parts.exchange = Exchange(task.ranks);
  if (!parts.source && model.mini_batches) parts.source = make_steps(*model.mini_batches);
  if (parts.forward) return parts;
  parts.forward = model.predict;
  if (task.partition && !parts.metrics->metrics_are_means())
    parts.forward = [module = model.module.get(), predict = model.predict,
                     nodes = task.partition](const StepInput& in) {
      const Variable own = predict(in);
      return module->training() ? own : Variable(all_gather(*nodes, own.value()));
    };
  return parts;
}

Trainer make_trainer(const NodeRun& run, const TrainerOptions& options) {
  return {*run.model.module, trainer_parts(run), run.model.groups, options};
}

}  // namespace rodeo
