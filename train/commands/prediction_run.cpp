#include "train/commands/prediction_run.h"

#include <fmt/format.h>

#include <cstdio>

#include "core/text.h"
#include "train/task/graph_task.h"
#include "train/task/hetero_task.h"
#include "train/task/model_registry.h"
#include "train/task/node_model.h"
#include "train/task/relation_split.h"

namespace rodeo {
namespace {

/// Checks --per-class: throws Error where the dataset has no labels of the model's classes.
void check_classes(const Dataset& dataset, const Tensor& label, const WeightsInfo& info,
                   const std::string& file) {
  check(info.options.task != TaskKind::kLink && !info.regression,
        "--per-class is for classes, which these weights do not predict");
  check(label.defined(), file, ": has no labels, which --per-class compares with");
  const DType dtype = info.multi_label ? DType::kU8 : DType::kI64;
  check(label.dtype() == dtype && dataset.num_classes <= info.num_classes &&
            (!info.multi_label || dataset.num_classes == info.num_classes),
        file, ": its labels are of other classes than those of the weights, ", info.num_classes,
        ": not with --per-class");
}

/// Adds what the dataset says of weights without a description.
void complete(WeightsInfo& info, const PredictOptions& options, const Dataset& dataset) {
  info.num_features = dataset.num_features;
  info.num_classes = options.classes > 0 ? options.classes : dataset.num_classes;
  check(info.num_classes > 0, options.dataset, ": has no labels: give the number of classes by --classes N");
  info.multi_label = dataset.multi_label();
  info.regression = dataset.regression();
}

}  // namespace

void prepare_features(Dataset& dataset, WeightsInfo& info, const std::string& where) {
  add_input_features(dataset, info.options, info.num_features);
  info.options.input_features = InputFeatures::kFile;
  if (dataset.graph_ptr.defined()) {
    dataset.x = graph_set_features(dataset);
    dataset.x_sparse = {};
    dataset.num_features = dataset.x.dim(1);
  }
  check(dataset.has_features(), where, " has no features");
  check(info.num_features == 0 || dataset.num_features == info.num_features, where, " has ",
        dataset.num_features, " features, the weights are for ", info.num_features);
  if (!info.features.defined()) return;
  dataset.x = info.features.apply(dense_features(dataset));
  dataset.x_sparse = {};
  info.options.normalize_features = FeatureScaling::kNone;
}

Dataset take_labels(Dataset& dataset, const WeightsInfo& info) {
  Dataset part;
  if (info.options.task == TaskKind::kGraph) {
    part.num_nodes = dataset.num_graphs();
    part.y = dataset.graph_label;
    int fold = 0, folds = 0;
    if (!part.y.defined() || dataset.name != info.dataset) return part;
    if (info.split == "fold:file")
      part.split = dataset.graph_split;
    else if (std::sscanf(info.split.c_str(), "fold:%d/%d", &fold, &folds) == 2)
      part.split = fold_split(part.y, folds, fold, info.seed);
    return part;
  }
  part.num_nodes = dataset.num_nodes;
  part.y = dataset.y;
  part.split = dataset.split;
  part.node_id = dataset.node_id;
  part.node_names = std::move(dataset.node_names);
  return part;
}

Adjacency label_graph(const Dataset& dataset, const Dataset& known, bool undirected,
                      const PredictOptions& options) {
  check(known.y.defined() && known.y.dtype() == DType::kI64 && known.split.train.defined() &&
            known.split.train.numel() > 0,
        options.dataset, ": has no classes of training nodes, which --",
        options.correct_and_smooth ? "correct-and-smooth" : "label-propagation", " propagates");
  return to_graph(dataset, kCpu, {.symmetrize = undirected}).adj;
}

namespace {

/// Nodes of one type, or links, in a graph of several node types.
PredictionRun load_types(const PredictOptions& options, WeightsInfo& info, const std::string& file,
                         Device device, const Console& console) {
  check(is_hetero_file(options.dataset), options.dataset, ": holds one type of nodes, and ", file,
        " are weights of ", info.options.model, ", for several");
  check(!options.correct_and_smooth, "--correct-and-smooth is for graphs of one node type, and ", file,
        " are weights of ", info.options.model);
  HeteroDataset dataset = load_hetero_dataset(options.dataset);
  const int target = dataset.type_index(info.types.target);
  PredictionRun out;
  if (target >= 0) {
    Dataset& nodes = dataset.types[static_cast<std::size_t>(target)];
    if (!info.split.empty() && dataset.name == info.dataset && nodes.y.defined())
      nodes.split =
          load_hetero_dataset(options.dataset,
                              {.features = false, .edges = false, .split = info.split, .seed = info.seed})
              .types[static_cast<std::size_t>(target)]
              .split;
    if (options.per_class) check_classes(nodes, nodes.y, info, options.dataset);
    if (info.class_names.empty() && nodes.num_classes == info.num_classes)
      info.class_names = nodes.class_names;
    out.known = take_labels(nodes, info);
  }
  if (info.options.task == TaskKind::kLink) {
    if (options.per_class) check_classes({}, {}, info, options.dataset);
    for (Dataset& type : dataset.types) out.links.types.push_back(take_labels(type, info));
    for (const std::size_t r : find_link_relations(dataset, info.options)) {
      const HeteroRelation& relation = dataset.relations[r];
      out.links.relations.push_back({relation.name, dataset.relation_name(relation), relation.source,
                                     relation.target, pairs_of_relation(dataset, relation)});
    }
  }
  console.say("dataset", str(dataset.name, ": ", count_of(std::ssize(dataset.types), "node type"), ", ",
                             count_of(dataset.num_nodes(), "node"), ", ",
                             count_of(std::ssize(dataset.relations), "relation"), ", ",
                             count_of(dataset.num_edges(), "edge")));
  out.run =
      make_hetero_prediction_run(std::move(dataset), info.types, info.num_classes, info.options, device);
  return out;
}

/// A graph of one node type, or a set of graphs.
PredictionRun load_graph(const PredictOptions& options, WeightsInfo& info, const std::string& file,
                         Device device, const Console& console) {
  check(!is_hetero_file(options.dataset), options.dataset, ": holds node types and relations, and ", file,
        " are weights of ", info.options.model, ", for one type of nodes");
  Dataset dataset = load_dataset(options.dataset);
  prepare_features(dataset, info, options.dataset + ":");
  if (options.model) complete(info, options, dataset);
  const bool graphs = info.options.task == TaskKind::kGraph;
  check(!graphs || dataset.graph_ptr.defined(), options.dataset, ": has no /graph_ptr: ", file,
        " are weights for the graphs of a set");
  if (info.class_names.empty() && dataset.num_classes == info.num_classes)
    info.class_names = dataset.class_names;
  console.say("dataset", str(dataset.name, ": ", graphs ? count_of(dataset.num_graphs(), "graph") + ", " : "",
                             count_of(dataset.num_nodes, "node"), ", ", count_of(dataset.num_edges(), "edge"),
                             ", ", count_of(dataset.num_features, "feature")));
  if (info.options.task == TaskKind::kNode && !info.split.empty() && dataset.name == info.dataset &&
      dataset.y.defined())
    dataset.split = load_dataset(options.dataset,
                                 {.features = false, .edges = false, .split = info.split, .seed = info.seed})
                        .split;
  PredictionRun out{.run = {}, .known = take_labels(dataset, info)};
  if (options.per_class) check_classes(dataset, out.known.y, info, options.dataset);
  check(!options.correct_and_smooth ||
            (info.options.task == TaskKind::kNode && !info.regression && !info.multi_label),
        "--correct-and-smooth is for one class a node, which these weights do not predict");
  if (info.options.task == TaskKind::kLink) out.links = {.types = {out.known}, .relations = {{}}};
  if (options.correct_and_smooth)
    out.smoothing = label_graph(dataset, out.known, info.options.undirected, options);
  dataset.num_classes = info.num_classes;
  // Features for weights without a description are standardised as training on the file's masks would.
  if (!options.model) dataset.split = {};
  out.run = make_prediction_run(std::move(dataset), info.options, device);
  return out;
}

}  // namespace

PredictionRun load_prediction_run(const PredictOptions& options, WeightsInfo& info, const std::string& file,
                                  Device device, const Console& console) {
  return (has_relations(info.options) ? load_types : load_graph)(options, info, file, device, console);
}

}  // namespace rodeo
