#include "train/task/hetero_task.h"

#include <fmt/format.h>

#include <utility>

#include "core/storage.h"
#include "core/text.h"
#include "datasets/relation_sampler.h"
#include "models/hetero_model.h"
#include "ops/gather_rows.h"
#include "ops/hetero_shard.h"
#include "train/precision.h"
#include "train/task/batch_models.h"
#include "train/task/counted.h"
#include "train/task/criteria.h"
#include "train/task/data_source.h"
#include "train/task/feature_scale.h"
#include "train/task/label_checks.h"
#include "train/task/layerwise.h"
#include "train/task/model_registry.h"
#include "train/task/rank_shard.h"
#include "train/task/relation_split.h"
#include "train/task/run_features.h"
#include "train/timing.h"

namespace rodeo {
namespace {

HeteroGraph make_graph(const HeteroDataset& dataset, const TrainOptions& options, Device device) {
  std::vector<NodeType> types;
  for (const Dataset& type : dataset.types) types.push_back({type.name, type.num_nodes});
  std::vector<EdgeType> relations;
  for (const HeteroRelation& r : dataset.relations)
    relations.push_back({dataset.types[static_cast<std::size_t>(r.source)].name, r.name,
                         dataset.types[static_cast<std::size_t>(r.target)].name, r.src, r.dst});
  const HeteroGraph graph(std::move(types), std::move(relations), device);
  return options.undirected ? graph.add_reverse() : graph;
}

void check_reached(const HeteroGraph& graph, const HeteroDataset& dataset) {
  for (int r = 0; r < graph.num_relations(); ++r)
    if (graph.dst_type(r) == dataset.target && graph.num_edges(r) > 0) return;
  fail(dataset.name, ": no relation leads to the nodes of the target type, ",
       dataset.types[static_cast<std::size_t>(dataset.target)].name,
       ": give --undirected, which adds the reverse of each relation");
}

/// The type whose labels are learned; null for links, which are of all types.
const Dataset* target_of(const HeteroDataset& dataset, const TrainOptions& options) {
  return options.task == TaskKind::kLink ? nullptr : &dataset.types[static_cast<std::size_t>(dataset.target)];
}

/// What the weights will say of the dataset; scales follow.
TrainedTypes describe_types(const HeteroDataset& dataset) {
  TrainedTypes out;
  for (const Dataset& type : dataset.types)
    out.types.push_back({type.name, type.num_nodes, type.num_features, {}});
  for (const HeteroRelation& relation : dataset.relations)
    out.relations.push_back(dataset.relation_name(relation));
  return out;
}

/// A type without features has a trainable row for each node: the nodes must be those of training.
void check_types(const HeteroDataset& dataset, const TrainedTypes& trained) {
  const auto names = [](const TrainedTypes& types) {
    return join(types.types, ", ", &TrainedTypes::Type::name);
  };
  const TrainedTypes given = describe_types(dataset);
  check(names(given) == names(trained), dataset.name, ": has the node types ", names(given),
        ", the weights are for ", names(trained));
  check(given.relations == trained.relations, dataset.name, ": has the relations ", join(given.relations),
        ", the weights are for ", join(trained.relations));
  for (std::size_t t = 0; t < given.types.size(); ++t) {
    const auto& [name, nodes, features, scale] = given.types[t];
    check(features == trained.types[t].features, dataset.name, ": ", name, " has ", features,
          " features, the weights are for ", trained.types[t].features);
    check(features > 0 || nodes == trained.types[t].nodes, dataset.name, ": ", name, " has ", nodes,
          " nodes, and the weights have trainable rows for ", trained.types[t].nodes,
          ": they know those nodes alone");
  }
}

/// Without projections all types have features, of one width.
void check_widths(const HeteroDataset& dataset) {
  for (const Dataset& type : dataset.types) {
    check(type.has_features(), "--pre-linear 0 is for features of all node types: ", type.name, " has none");
    check(type.num_features == dataset.types[0].num_features,
          "--pre-linear 0 is for features of one width: ", type.name, " has ", type.num_features,
          " columns, and ", dataset.types[0].name, " has ", dataset.types[0].num_features);
  }
}

/// The scaled features of each type, of the rank's nodes, on the device; undefined for a type without.
/// Without projections, those of all types as one input. Scales are those of `trained`, else chosen, from all
/// nodes.
std::vector<HeteroInput> make_inputs(HeteroDataset& dataset, const HeteroGraph& graph,
                                     const TrainOptions& options, const TrainedTypes* trained,
                                     NodeTask& task) {
  const Device device = graph.device();
  const DType dtype = activation_dtype(options.precision);
  Tensor joined;  // converted in place: nothing is held twice
  if (options.trunk.pre_linear == 0) {
    check_widths(dataset);
    std::int64_t nodes = 0;
    for (int t = 0; t < graph.num_types(); ++t) nodes += rank_nodes(graph, t).count;
    joined = Tensor::empty({nodes, dataset.types[0].num_features}, dtype, device);
  }
  std::int64_t first = 0;
  std::vector<HeteroInput> inputs;
  for (Dataset& type : dataset.types) {
    HeteroInput& input = inputs.emplace_back();
    task.features += fmt::format("{}{} ", task.features.empty() ? "" : "; ", type.name);
    if (!type.has_features()) {
      check(options.precision != Precision::kBf16, "--precision bf16 is for features of all node types, and ",
            type.name, " has none: its trainable rows are fp32");
      task.features += "trainable rows";
      continue;
    }
    type.x = dense_features(type);
    type.x_sparse = {};
    const Tensor train = type.name == task.types.target ? type.split.train : Tensor();
    FeatureScale& scale = task.types.types[inputs.size() - 1].scale;
    if (trained) {
      scale = trained->types[inputs.size() - 1].scale;
      scale.columns = scale.columns.to(device);
    } else {
      scale = make_feature_scale(type, "", train, options, device, {}, /*own=*/false,
                                 /*stays_sparse=*/false);
    }
    if (!scale.warning.empty()) task.warnings.push_back(type.name + ": " + scale.warning);
    const auto [begin, count] = rank_nodes(graph, static_cast<int>(inputs.size()) - 1);
    const Tensor x = type.x.slice(begin, begin + count);
    if (joined.defined())
      convert_pieces({x, {}}, 0, joined.slice(first, first + count), scale, options);
    else
      input.x = scale.apply(Features(x.to(device))).to(dtype);
    first += count;
    task.features += fmt::format("{} x {}, {}", type.num_nodes, type.num_features, scale.text);
    type.x = {};
  }
  if (joined.defined()) return {HeteroInput{.x = Features(joined)}};
  return inputs;
}

void add_labels(const Dataset& target, Device device, NodeTask& task) {
  task.class_names = target.class_names;
  task.split_sizes = target.split.sizes();
  find_majority(target.y, target.split.test, task);
  const std::vector<std::string> warnings =
      check_label_kind(target.y, target.name + " nodes", "/nodes/" + target.name + "/y");
  task.warnings.insert(task.warnings.end(), warnings.begin(), warnings.end());
  const Dataset own = task.partition ? rank_shard(target, *task.partition) : target;
  task.label = own.y.to(device);
  task.split = own.split.to(device);
}

HeteroModelOptions model_options(const HeteroDataset& dataset, const TrainOptions& o) {
  const Dataset* target = target_of(dataset, o);
  HeteroModelOptions out{.conv = &find_hetero_conv(o.model),
                         .in = {},
                         .target = o.task == TaskKind::kLink ? -1 : dataset.target,
                         .hidden = traits_of(o).heads ? o.hidden * o.heads : o.hidden,
                         .classes = target ? target->num_classes : o.embedding,
                         .layers = o.layers,
                         .dropout = o.dropout,
                         .norm = o.trunk.norm,
                         .project = o.trunk.pre_linear > 0};
  for (const Dataset& type : dataset.types) out.in.push_back(type.num_features);
  out.layer.heads = o.heads;
  out.layer.attention_dropout = o.attention_dropout;
  out.layer.bases = o.bases, out.layer.blocks = o.blocks;
  out.layer.relational.spmm = {.algorithm = spmm_of_steps(o), .accumulate = o.spmm_accumulate};
  return out;
}

std::string describe_model(const TrainOptions& o) {
  std::string text = fmt::format("{}, {}, ", find_model(o.model).title, count_of(o.layers, "layer"));
  text += traits_of(o).heads ? fmt::format("{} x {} hidden, ", count_of(o.heads, "head"), o.hidden)
                             : fmt::format("{} hidden, ", o.hidden);
  if (o.bases > 0) text += fmt::format("{} bases, ", o.bases);
  if (o.blocks > 0) text += fmt::format("{} blocks, ", o.blocks);
  if (o.trunk.pre_linear == 0) text += "features as they are, ";
  text += fmt::format("dropout {}", o.dropout);
  return o.trunk.norm == TrunkNorm::kNone ? text : text + fmt::format(", {} norm", name(o.trunk.norm));
}

}  // namespace

void check_hetero_options(const TrainOptions& o) {
  const auto refuse = [&](bool given, std::string_view option, std::string_view why) {
    check(!given, option, " is not for --model ", o.model, ", of graphs of several node types: ", why);
  };
  refuse(o.batch_by_parts, "--batch-by parts", "batches are nodes, or edges, and sampled neighbours");
  const bool places = o.features_on != FeaturesOn::kAuto && o.features_on != FeaturesOn::kDevice;
  refuse(places, str("--features-on ", name(o.features_on)), "features are on the device");
  refuse(o.graph_on == GraphOn::kHost || o.graph_on == GraphOn::kPeers, str("--graph-on ", name(o.graph_on)),
         "the graph is on the device");
  check(o.batch == 0 || o.trunk.norm != TrunkNorm::kBatch, "--norm batch is not for --batch with --model ",
        o.model, ": a batch may have one node of a type, or none; give --norm layer");
  refuse(o.aggregation != Aggregation::kAuto, "--aggregation", "ranks gather the rows of all nodes");
  refuse(o.reorder != NodeOrder::kNone, "--reorder", "nodes keep their order");
  refuse(o.prune_rows, "--prune-rows", "the last layer computes the target type alone");
  refuse(o.input_features != InputFeatures::kFile, "--input-features",
         "types without features have trainable rows");
  refuse(o.explain, "--explain", "it describes the products of one graph");
  check(o.bases == 0 || o.blocks == 0, "--bases and --blocks are two decompositions: give one of them");
  check(o.blocks == 0 || o.hidden % o.blocks == 0, "--blocks must divide --hidden, got ", o.blocks, " and ",
        o.hidden);
}

namespace {

/// Predictions of batches, and of all nodes in evaluations: exact, or with --eval sampled of samples. Every
/// rank has the whole graph, and trains on a fraction of each batch.
void train_on_batches(NodeRun& run, HeteroModel& made, const HeteroGraph& graph,
                      const std::vector<HeteroInput>& inputs, const TrainOptions& options) {
  const NodeTask& task = run.task;
  const int target = made.options().target;
  const std::int64_t count = target < 0 ? graph.num_nodes() : graph.num_nodes(target);
  const auto nodes = target < 0 ? std::vector{counted(count)}  // of pairs
                                : std::vector{task.split.train, task.split.val, task.split.test};
  const auto batches = std::make_shared<MiniBatchTraining>(MiniBatchTraining{
      .batches = MiniBatches(nodes.front(), count, options.batch, options.seed, graph.device()),
      .sampler = NeighborSampler(graph, target, {fanout_of(options), options.replace, options.seed}),
      .batch_size = options.batch});
  batches->ranks = task.ranks;
  for (const HeteroInput& input : inputs)
    if (input.x.defined()) batches->x_of_types.push_back(input.x.input().value());
  const auto forward = [&made, graph, inputs](const SampledBatch& batch) {
    std::vector<HeteroGraph> blocks;
    for (const Block& block : batch.blocks) blocks.push_back(block_graph(graph, block));
    if (!made.options().project) {
      const Tensor nodes = sort_by_type(graph, batch.inputs());
      return made.forward(blocks, {{.x = Features(gather_rows(inputs[0].x.input().value(), nodes))}});
    }
    const std::vector<Tensor> nodes = nodes_by_type(graph, batch.inputs());
    std::vector<HeteroInput> read;
    for (std::size_t t = 0; t < inputs.size(); ++t) {
      const bool rows = inputs[t].x.defined();
      read.push_back({.x = rows ? Features(gather_rows(inputs[t].x.input().value(), nodes[t])) : Features(),
                      .nodes = nodes[t]});
    }
    return made.forward(blocks, read);
  };
  run.model.mini_batches = batches;
  run.model.predict = [forward, batches, whole = run.model.predict, sampled = options.eval_sampled, nodes,
                       count](const StepInput& in) {
    if (in.batch) return forward(*in.batch);
    return sampled ? sampled_logits(*batches, forward, nodes, count) : whole(in);
  };
}

/// A step of a mini-batch updates the trainable rows that it reads, and Adam takes the gradient of these
/// rows.
std::vector<ParameterGroup> parameter_groups(HeteroModel& made, const TrainOptions& options) {
  const bool by_row = !options.optimizer.make && options.optimizer.name.starts_with("adam");
  std::vector<ParameterGroup> groups;  // in the order of the parameters
  for (const auto& [name, parameter] : made.named_parameters()) {
    const bool lazy = options.batch > 0 && name.starts_with("embeddings.");
    if (groups.empty() || groups.back().options.lazy != lazy)
      groups.push_back({{}, {.lr = options.lr, .weight_decay = options.weight_decay, .lazy = lazy}});
    groups.back().parameters.push_back(parameter);
    if (lazy && by_row) groups.back().reads.push_back(made.read_by_row(name));
  }
  return groups;
}

/// The model and its task, in training with labels; trained: null in training.
NodeRun build_run(HeteroDataset& dataset, const TrainedTypes* trained, const TrainOptions& options,
                  Device device, const Communicator& ranks) {
  check_hetero_options(options);
  NodeRun run;
  NodeTask& task = run.task;
  NodeModel& model = run.model;
  TypePartitions partitions;  // over ranks that train on the whole graph
  reset_peak_memory(device);
  HeteroGraph graph;
  std::vector<HeteroInput> inputs;
  std::vector<LinkRelation> links;
  task.convert_ms = timed(device, [&] {
    const Dataset* target = target_of(dataset, options);
    if (!target && !trained) links = take_relation_splits(dataset, options, device);
    graph = make_graph(dataset, options, device);
    if (target) check_reached(graph, dataset);
    task.name = dataset.name;
    task.num_nodes = graph.num_nodes(), task.num_edges = graph.num_edges();
    task.num_features = target ? target->num_features : 0;
    task.num_classes = target ? target->num_classes : options.embedding;
    task.types = describe_types(dataset);
    if (target) task.types.target = target->name;
    if (ranks.size() > 1 && options.batch == 0) {
      partitions = partition_types(graph, dataset, ranks);
      graph = graph.shard(partitions);
      if (target) task.partition = partitions[static_cast<std::size_t>(dataset.target)];
    } else {
      task.ranks = ranks;
    }
    inputs = make_inputs(dataset, graph, options, trained, task);
    if (trained) return;
    if (target)
      add_labels(*target, device, task);
    else
      task.label = Tensor::zeros({task.num_nodes}, DType::kI64, device);
  });
  task.convert_peak_bytes = memory_stats(device).peak;
  task.x = Features(Tensor::zeros({1, 1}, DType::kF32, device));
  for (const HeteroInput& input : inputs)
    if (input.x.defined()) task.x = input.x;  // that of one type: the model has them all
  auto made =
      std::make_unique<HeteroModel>(model_options(dataset, options), graph, Random(options.seed), device);
  model.groups = parameter_groups(*made, options);
  model.predict = [made = made.get(), graph, inputs](const StepInput&) {
    return made->forward(graph, inputs);
  };
  if (!trained && options.batch > 0) train_on_batches(run, *made, graph, inputs, options);
  model.embed = [made = made.get(), graph, inputs] { return made->embed(graph, inputs); };
  model.text = describe_model(options) + (options.batch > 0 ? describe_batches(options) : "");
  model.algorithms = fmt::format("{}{}, precision {}", count_of(graph.num_relations(), "relation"),
                                 options.undirected ? " with their reverses" : "", name(options.precision));
  model.module = std::move(made);
  const bool of_links = options.task == TaskKind::kLink;
  if (of_links) add_decoder(run, options, std::ssize(find_link_relations(dataset, options)));
  if (of_links && !partitions.empty()) task.partition = join_partitions(partitions);
  if (trained) return run;
  if (of_links)
    set_link_parts(run, links, options);
  else
    set_criterion(run, options);
  return run;
}

}  // namespace

NodeRun make_hetero_run(HeteroDataset dataset, const TrainOptions& options, Device device,
                        const Communicator& ranks) {
  return build_run(dataset, nullptr, options, device, ranks);
}

NodeRun make_hetero_prediction_run(HeteroDataset dataset, const TrainedTypes& trained, std::int64_t classes,
                                   const TrainOptions& options, Device device) {
  const bool of_links = options.task == TaskKind::kLink;
  dataset.target = dataset.type_index(trained.target);
  check(of_links || dataset.target >= 0, dataset.name, ": has no node type ", trained.target,
        ", whose nodes the weights predict");
  check_types(dataset, trained);
  if (!of_links) dataset.types[static_cast<std::size_t>(dataset.target)].num_classes = classes;
  return build_run(dataset, &trained, options, device, {});
}

}  // namespace rodeo
