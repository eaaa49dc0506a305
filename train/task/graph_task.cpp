#include "train/task/graph_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "core/node_partition.h"
#include "core/random_streams.h"
#include "models/trunk.h"
#include "ops/convert.h"
#include "ops/gather_rows.h"
#include "ops/graph_batch.h"
#include "train/task/counted.h"
#include "train/task/graph_steps.h"
#include "train/task/rank_shard.h"
#include "train/task/trunk_model.h"

namespace rodeo {
namespace {

using Ids = std::vector<std::int64_t>;
constexpr std::uint64_t kFoldStream = 0x666f6c64;

/// Whether a value of the graph is known.
bool has_label(const Tensor& label, std::int64_t graph) {
  if (label.rank() == 1) return true;
  const auto any = [&](const auto* values, auto&& is_known) {
    const auto* row = values + graph * label.dim(1);
    return std::any_of(row, row + label.dim(1), is_known);
  };
  return label.dtype() == DType::kF32
             ? any(label.data<float>(), [](float y) { return !std::isnan(y); })
             : any(label.data<std::uint8_t>(), [](auto y) { return y != Dataset::kMissingLabel; });
}

}  // namespace

Split fold_split(const Tensor& label, int folds, int k, std::uint64_t seed) {
  check(k >= 0 && k < folds, "--fold must be in [0, ", folds, "), got ", k);
  const Ids y = label.rank() == 2 ? Ids(static_cast<std::size_t>(label.dim(0)))  // one class
                                  : label.to_vector<std::int64_t>();
  Ids all;
  for (std::size_t g = 0; g < y.size(); ++g)
    if (has_label(label, static_cast<std::int64_t>(g))) all.push_back(static_cast<std::int64_t>(g));
  check(folds <= std::ssize(all), "--folds ", folds, " leaves a part without a graph: ", all.size(),
        " have a label");
  Ids order = shuffled(all, seed, kFoldStream);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return y[a] < y[b]; });
  Ids parts[3];
  for (std::size_t i = 0; i < order.size(); ++i) {
    const int fold = static_cast<int>(i % static_cast<std::size_t>(folds));
    parts[fold == k ? 2 : fold == (k + 1) % folds ? 1 : 0].push_back(order[i]);
  }
  for (Ids& part : parts) std::sort(part.begin(), part.end());
  return {Tensor::from(parts[0]), Tensor::from(parts[1]), Tensor::from(parts[2])};
}

namespace {

Tensor nodes_of(const Dataset& dataset, const Tensor& graphs) {
  const Ids ptr = dataset.graph_ptr.to_vector<std::int64_t>();
  Ids nodes;
  for (const std::int64_t g : graphs.to_vector<std::int64_t>())
    for (std::int64_t i = ptr[g]; i < ptr[g + 1]; ++i) nodes.push_back(i);
  return Tensor::from(nodes);
}

/// A classifier of graphs, and what it reads of a set.
struct GraphInputs {
  Trunk* model = nullptr;
  GraphSet set;
  GcnGraph whole;  // of the set; for GIN only adj
  Tensor x, f;     // f: edge features, undefined unless the model reads them
  Communicator ranks;

  /// Logits of the rank's graphs of a step. A collective call.
  Variable forward(const GraphStep& step) const {
    if (!step.partition) return logits(step.graphs);
    const ScopedPartition over(step.partition);
    const ScopedFirstRow first(step.first_graph);  // of the only dropout, whose rows are graphs
    return logits(step.graphs);
  }

  /// Logits of all graphs; over several ranks not differentiable. A collective call.
  Variable predict() {
    if (ranks.size() == 1)
      return model->forward(ConvGraph(whole, f.defined() ? Variable(f) : Variable()), Features(x),
                            set.graph_ptr());
    if (!own_) {
      const Ids graphs = counted(set.size()).to_vector<std::int64_t>();
      const Ids begins = cut_graphs(graphs, set, ranks.size());
      for (std::size_t r = 0; r + 1 < begins.size(); ++r) counts_.push_back(begins[r + 1] - begins[r]);
      const auto begin = graphs.begin() + begins[static_cast<std::size_t>(ranks.rank())];
      own_ = set.batch({begin, begin + counts_[static_cast<std::size_t>(ranks.rank())]});
    }
    return Variable(ranks.all_gather(logits(*own_).value(), counts_));
  }

 private:
  Variable logits(const GraphBatch& batch) const {
    GcnGraph graph{batch.adj, {}, {}};
    if (whole.weight.defined()) graph.weight = take(whole.weight, batch.edge_ids);
    if (whole.scale.defined()) graph.scale = take(whole.scale, batch.nodes);
    const ConvGraph read(graph, f.defined() ? Variable(gather_rows(f, batch.edge_ids)) : Variable());
    return model->forward(read, Features(gather_rows(x, batch.nodes)), batch.offsets);
  }

  Ids counts_;                     // the graphs of each rank in evaluations: how many
  std::optional<GraphBatch> own_;  // the rank's
};

}  // namespace

void use_graphs(Dataset& dataset, const TrainOptions& options, bool trains, const Communicator& ranks) {
  check(dataset.graph_ptr.defined(), dataset.name, ": has no /graph_ptr: --task graph",
        trains ? " needs" : ", which the weights are of, needs", " a set of graphs");
  check(!trains || dataset.graph_label.defined(), dataset.name,
        ": has no /graph_y: --task graph needs labels of graphs");
  check(!options.edge_features || dataset.edge_attr.defined(), dataset.name,
        ": has no /edge_attr, which --edge-features reads");
  dataset.x = graph_set_features(dataset);
  dataset.num_features = dataset.x.dim(1);
  dataset.x_sparse = {};
  dataset.y = Tensor::zeros({dataset.num_graphs()}, DType::kI64);
  if (!trains) return;
  check_same_data({dataset.graph_ptr, dataset.graph_label}, ranks);
  dataset.y = dataset.graph_label;
  dataset.split = options.fold == kFoldOfFile
                      ? dataset.graph_split
                      : fold_split(dataset.y, options.folds, std::max(options.fold, 0), options.seed);
  for (const Tensor& part : dataset.split.sets())
    check(part.defined() && part.numel() > 0, dataset.name,
          ": --fold file needs /graph_train_mask, /graph_val_mask and /graph_test_mask, each with a graph");
}

void add_graph_features(NodeTask& task, const Dataset& dataset, const TrainOptions& options, Device device) {
  const Tensor train = dataset.split.train.numel() > 0 ? nodes_of(dataset, dataset.split.train) : Tensor();
  task.feature_scale = make_feature_scale(dataset, {}, train, options, device, {}, /*own=*/false,
                                          /*stays_sparse=*/false);
  if (!task.feature_scale.warning.empty()) task.warnings.push_back(task.feature_scale.warning);
  if (train.defined() && options.fold != kFoldOfFile && dataset.graph_split.train.defined())
    task.warnings.emplace_back(
        "the file has a split of its graphs, which is not used: --fold file trains on it");
  task.x = task.feature_scale.apply(Features(dataset.x.to(device))).to(activation_dtype(options.precision));
  task.features =
      fmt::format("dense, {} x {}; {}", dataset.x.dim(0), dataset.x.dim(1), task.feature_scale.text);
  task.parts_of = "graphs";
}

NodeModel make_graph_model(const TrainOptions& options, const NodeTask& task, const ModelGraph& graph,
                           const Tensor& graph_ptr) {
  auto trunk = make_graph_classifier(options, task.num_features, task.num_edge_features, task.num_classes,
                                     task.x.device());
  auto inputs = std::make_shared<GraphInputs>();
  inputs->model = trunk.get();
  inputs->set = GraphSet(graph.adj, graph_ptr);
  inputs->whole = graph.normalized.adj.defined() ? graph.normalized : GcnGraph{graph.adj, {}, {}};
  inputs->x = task.x.input().value();
  inputs->f = graph.edge_attr;
  inputs->ranks = task.ranks;
  NodeModel model;
  model.groups = {{trunk->parameters(), {.lr = options.lr, .weight_decay = options.weight_decay}}};
  model.module = std::move(trunk);
  model.predict = [inputs](const StepInput& in) {
    return in.graphs ? inputs->forward(*in.graphs) : inputs->predict();
  };
  model.text = describe_graph_classifier(options);
  model.algorithms = fmt::format("{}, batches of {} graphs", describe_aggregation(options, task.x.device()),
                                 options.batch_graphs);
  model.parts.source = std::make_shared<GraphSteps>(
      inputs->set, task.split.train.to_vector<std::int64_t>(),
      GraphStepsOptions{.batch_graphs = static_cast<std::size_t>(options.batch_graphs), .seed = options.seed},
      task.ranks);
  return model;
}

}  // namespace rodeo
