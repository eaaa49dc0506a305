#include "train/task/graph_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "train/task/criteria.h"
#include "train/task/graph_steps.h"
#include "train/task/model_registry.h"
#include "train/task/rank_shard.h"
#include "train/task/trunk_model.h"

namespace rodeo {
namespace {

using Ids = std::vector<std::int64_t>;
constexpr std::uint64_t kFoldStream = 0x666f6c64;

bool has_label(const Tensor& label, std::int64_t graph) {
  if (label.dtype() != DType::kF32) return true;
  const std::int64_t columns = label.dim(1);
  const float* target = label.data<float>() + graph * columns;
  return !std::all_of(target, target + columns, [](float y) { return std::isnan(y); });
}

}  // namespace

Split fold_split(const Tensor& label, int folds, int k, std::uint64_t seed) {
  check(k >= 0 && k < folds, "--fold must be in [0, ", folds, "), got ", k);
  const Ids y = label.dtype() == DType::kF32 ? Ids(static_cast<std::size_t>(label.dim(0)))  // one class
                                             : label.to_vector<std::int64_t>();
  Ids all;
  for (std::size_t g = 0; g < y.size(); ++g)
    if (has_label(label, static_cast<std::int64_t>(g))) all.push_back(static_cast<std::int64_t>(g));
  Ids order = shuffled(all, seed, kFoldStream);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return y[a] < y[b]; });
  Ids parts[3];
  for (std::size_t i = 0; i < order.size(); ++i) {
    const int fold = static_cast<int>(i % static_cast<std::size_t>(folds));
    parts[fold == k ? 2 : fold == (k + 1) % folds ? 1 : 0].push_back(order[i]);
  }
  for (Ids& part : parts) {
    check(!part.empty(), "--folds ", folds, " leaves a part without a graph: the set has ", all.size());
    std::sort(part.begin(), part.end());
  }
  return {Tensor::from(parts[0]), Tensor::from(parts[1]), Tensor::from(parts[2])};
}

namespace {

/// The model on the graphs of a dataset. split: of the graphs; without it the run has no criterion.
NodeRun build_graph_run(Dataset dataset, const TrainOptions& options, Device device,
                        const std::optional<Split>& split, const Communicator& ranks = {}) {
  check(!options.edge_features || dataset.edge_attr.defined(), dataset.name,
        ": has no /edge_attr, which --edge-features reads");
  const bool gcn = traits_of(options).graph == GraphInput::kGcnNorm;
  NodeRun run;
  NodeTask& task = run.task;
  NodeModel& model = run.model;
  auto shared = std::make_shared<GraphInputs>();
  GraphInputs& o = *shared;
  reset_peak_memory(device);
  task.convert_ms = timed(device, [&] {
    const Tensor x = graph_set_features(dataset).to(device);
    o.x = (options.normalize_features ? normalize_rows(Features(x)).dense().value() : x)
              .to(activation_dtype(options.precision));
    if (!options.edge_features) dataset.edge_attr = {};
    const Graph graph = to_graph(dataset, device, {.symmetrize = options.undirected});
    task.num_edges = graph.adj.num_edges();
    if (graph.attr.defined()) o.f = graph.attr.to(o.x.dtype());
    if (!options.undirected) task.one_way_edges = count_one_way_edges(graph.adj);
    o.whole = gcn ? gcn_norm(graph.adj, graph.weight) : GcnGraph{graph.adj, {}, {}};
    if (gcn) o.whole.weight = o.whole.weight.defined() ? o.whole.weight.to(o.x.dtype()) : Tensor();
    o.set = GraphSet(o.whole.adj, dataset.graph_ptr);
    task.label = dataset.graph_label.to(device);
  });
  task.convert_peak_bytes = memory_stats(device).peak;
  task.name = dataset.name;
  task.ranks = o.ranks = ranks;
  task.num_nodes = dataset.num_nodes;
  task.num_features = o.x.dim(1);
  task.num_classes = dataset.num_classes;
  task.class_names = dataset.class_names;
  task.parts_of = "graphs";
  task.x = Features(o.x);
  task.features = fmt::format("dense, {} x {}", o.x.dim(0), o.x.dim(1));

  auto module = make_graph_classifier(options, task.num_features, o.f.defined() ? o.f.dim(1) : 0,
                                      task.num_classes, device);
  o.model = module.get();
  model.groups = {{module->parameters(), {.lr = options.lr, .weight_decay = options.weight_decay}}};
  model.module = std::move(module);
  model.adj = o.whole.adj;
  model.predict = [shared](const StepInput& in) {
    return in.graphs ? shared->forward(*in.graphs) : shared->predict();
  };
  model.text = describe_graph_classifier(options);
  model.algorithms =
      fmt::format("spmm {}, batches of {} graphs, precision {}",
                  name(options.spmm == SpmmAlgorithm::kAuto ? SpmmAlgorithm::kRode : options.spmm),
                  options.batch_graphs, name(options.precision));
  if (!split) return run;
  task.split = {split->train.to(device), split->val.to(device), split->test.to(device)};
  task.split_sizes = {task.split.train.numel(), task.split.val.numel(), task.split.test.numel()};
  set_criterion(run, options);
  find_majority(dataset.graph_label, split->test, task);
  model.parts.source = std::make_shared<GraphSteps>(
      o.set, split->train.to_vector<std::int64_t>(),
      GraphStepsOptions{.batch_graphs = static_cast<std::size_t>(options.batch_graphs), .seed = options.seed},
      ranks);
  return run;
}

}  // namespace

NodeRun make_graph_run(Dataset dataset, const TrainOptions& options, Device device,
                       const Communicator& ranks) {
  check(dataset.graph_ptr.defined() && dataset.graph_label.defined(), dataset.name,
        ": has no /graph_ptr and /graph_y: --task graph needs a set of graphs");
  check_same_data({dataset.graph_ptr, dataset.graph_label}, ranks);
  const Split split = fold_split(dataset.graph_label, options.folds, std::max(options.fold, 0), options.seed);
  return build_graph_run(std::move(dataset), options, device, split, ranks);
}

NodeRun make_graph_prediction_run(Dataset dataset, const TrainOptions& options, Device device) {
  check(dataset.graph_ptr.defined(), dataset.name,
        ": has no /graph_ptr: weights of --task graph need a set of graphs");
  dataset.graph_label = Tensor::zeros({dataset.num_graphs()}, DType::kI64);
  return build_graph_run(std::move(dataset), options, device, std::nullopt);
}

}  // namespace rodeo
