#include "train/task/trunk_model.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "core/text.h"
#include "layers/pna_conv.h"
#include "train/task/batch_models.h"
#include "train/task/model_registry.h"
#include "train/task/option_group.h"

namespace rodeo {
namespace {

/// "GCN", or "GINE" with edge features.
std::string model_title(const TrainOptions& options) {
  const ModelEntry& entry = find_model(options.model);
  return std::string(options.edge_features && !entry.edge_title.empty() ? entry.edge_title : entry.title);
}

/// "dropout 0.5", and "dropout 0.5 (0 of features)"
std::string describe_dropout(const TrainOptions& o) {
  const double p = o.input_dropout.value_or(o.dropout);
  const std::string hidden = o.layer_dropout.empty() ? fmt::format("dropout {}", o.dropout)
                                                     : fmt::format("dropout {}", o.layer_dropout);
  return hidden + (p == o.dropout ? "" : fmt::format(" ({} of features)", p));
}

/// "GCN, 2 layers, 16 hidden, dropout 0.5": of a published model.
std::string describe_published(const TrainOptions& o, const ModelEntry& entry) {
  const ConvTraits& traits = entry.conv->traits;
  std::string text = model_title(o);
  if (traits.heads)
    text += fmt::format(", {}, {} x {} hidden, {}, {}, attention dropout {}", count_of(o.layers, "layer"),
                        count_of(o.heads, "head"), o.hidden, count_of(o.out_heads, "output head"),
                        describe_dropout(o), o.attention_dropout);
  else if (traits.hidden_layers())
    text += fmt::format(", {}, {} hidden, {}", count_of(o.layers, "layer"), o.hidden, describe_dropout(o));
  if (traits.aggr) text += fmt::format(", {} of neighbours", name(o.aggr));
  if (o.train_eps) text += ", eps learned";
  if (traits.hops) text += str(", ", count_of(o.hops, "hop"));
  if (traits.teleport) text += fmt::format(", alpha {}, edge dropout {}", o.alpha, o.edge_dropout);
  return text;
}

/// "trunk of gcn, 3 layers, 512 hidden, dropout 0.7, batch norm, residual"
std::string describe_trunk(const TrainOptions& o) {
  const TrunkParts& parts = o.trunk;
  std::string text = fmt::format("trunk of {}, {}, ", o.model, count_of(o.layers, "layer"));
  if (traits_of(o).heads)
    text += fmt::format("{} x {} hidden, ", count_of(o.heads, "head"), o.hidden);
  else
    text += fmt::format("{} hidden, ", o.hidden);
  text += describe_dropout(o);
  if (traits_of(o).heads) text += fmt::format(", attention dropout {}", o.attention_dropout);
  if (traits_of(o).initial) text += fmt::format(", alpha {}, lambda {}", o.alpha, o.lambda);
  if (o.edge_features) text += ", edge features";
  if (!o.self_loops) text += ", no self loops";
  if (o.sage_loops) text += ", self loops";
  if (parts.pre_linear > 0)
    text += fmt::format(", {} linear before{}", parts.pre_linear, parts.pre_linear_norm ? " with norm" : "");
  if (parts.norm != TrunkNorm::kNone) text += fmt::format(", {} norm", name(parts.norm));
  if (parts.residual) text += ", residual";
  if (!parts.bias) text += ", no bias";
  text += fmt::format(", {}", name(parts.activation));
  if (parts.jump != TrunkJump::kNone)
    text += fmt::format(", jumping knowledge {}", name(parts.jump));
  else if (parts.post_linear)
    text += ", linear after";
  return text;
}

std::string describe_algorithms(const TrainOptions& o, Device device) {
  if (traits_of(o).graph == GraphInput::kNoEdges) return "no edges";
  std::string text = describe_aggregation(o, device);
  if (o.spmm_accumulate != Accumulate::kOrdered) text += fmt::format(" {}", name(o.spmm_accumulate));
  if (o.prune_rows) text += ", rows pruned";
  return text;
}

/// A damaged file of weights may ask for billions.
void check_pre_linear(const TrunkParts& parts) {
  constexpr std::int64_t kMost = 64;
  check(parts.pre_linear <= kMost, "--pre-linear must be at most ", kMost, ", got ", parts.pre_linear);
}

TrunkOptions trunk_options(const TrainOptions& o, std::int64_t in, std::int64_t edge_in, std::int64_t classes,
                           double log_degree = 1) {
  check_pre_linear(o.trunk);
  const ModelEntry& entry = find_model(o.model);
  check(!entry.relations, "--model ", o.model, " is for graphs of several node types, and this has one");
  return {.in = in,
          .hidden = o.hidden,
          .classes = classes,
          .layers = o.layers,
          .dropout = entry.conv->traits.hidden_layers() ? o.dropout : 0,
          .input_dropout = entry.conv->traits.hidden_layers() ? o.input_dropout : std::nullopt,
          .layer_dropout = parse_layer_dropout(o.layer_dropout),
          .drop_edge = o.drop_edge,
          .conv = entry.conv,
          .parts = o.trunk,
          .preset = uses_trunk(o) ? nullptr : entry.preset,
          .layer = {.edge_in = edge_in,
                    .heads = o.heads,
                    .out_heads = o.out_heads,
                    .attention_dropout = o.attention_dropout,
                    .negative_slope = o.negative_slope,
                    .form = o.attention,
                    .sddmm = {o.sddmm},
                    .spmm = o.spmm,
                    .aggr = o.aggr,
                    .train_eps = o.train_eps,
                    .hops = o.hops,
                    .alpha = o.alpha,
                    .edge_dropout = o.edge_dropout,
                    .lambda = o.lambda,
                    .log_degree = log_degree},
          .spmm = {.algorithm = o.spmm, .accumulate = o.spmm_accumulate}};
}

}  // namespace

NodeModel make_model(const TrainOptions& options, const NodeTask& task, const ModelGraph& graph) {
  const ModelEntry& entry = find_model(options.model);
  auto trunk = std::make_unique<Trunk>(
      trunk_options(options, task.num_features, task.num_edge_features, task.num_classes,
                    entry.conv->traits.degrees ? mean_log_degree(graph.adj) : 1),
      Random(options.seed), task.x.device());
  const bool published = !uses_trunk(options), normalized = entry.conv->traits.graph == GraphInput::kGcnNorm;
  NodeModel model;
  const std::vector<Variable> all = trunk->parameters();
  const std::size_t decayed =
      published && entry.decays_first_layer ? trunk->first_layer_parameters().size() : all.size();
  const auto rest = all.begin() + static_cast<std::ptrdiff_t>(decayed);
  model.groups = {{{all.begin(), rest}, {.lr = options.lr, .weight_decay = options.weight_decay}}};
  if (rest != all.end()) model.groups.push_back({{rest, all.end()}, {.lr = options.lr}});
  if (entry.linear_decay != 1) {
    std::vector<Variable> convolutions, linear;
    for (const auto& [name, parameter] : trunk->named_parameters())
      (name.starts_with("convs.") ? convolutions : linear).push_back(parameter);
    model.groups = {{convolutions, {.lr = options.lr, .weight_decay = options.weight_decay}},
                    {linear, {.lr = options.lr, .weight_decay = entry.linear_decay * options.weight_decay}}};
  }

  const Variable f = graph.edge_attr.defined() ? Variable(graph.edge_attr) : Variable();
  const ConvGraph read = normalized ? ConvGraph(graph.normalized, f) : ConvGraph(graph.adj, f);
  if (const int hidden = trunk->num_layers() - (trunk->has_outputs() ? 0 : 1); hidden > 0)
    model.embed = [trunk = trunk.get(), read, x = task.x, hidden] {
      Features h = trunk->has_inputs() ? Features(trunk->evaluate_inputs(x)) : x;
      const Variable initial = trunk->reads_initial() ? h.dense() : Variable();
      for (int i = 0; i < hidden; ++i) h = Features(trunk->evaluate_layer(i, read, h, initial));
      return h.dense();
    };
  if (options.batch > 0) {
    train_on_batches(model, *trunk, options, task, read);
  } else {
    const ConvGraph last = options.prune_rows ? select_destinations(read, task.split.train) : ConvGraph();
    model.predict = [trunk = trunk.get(), read, last, x = task.x](const StepInput&) {
      return last.adj.defined() && trunk->training() ? trunk->forward(read, x, last)
                                                     : trunk->forward(read, x);
    };
  }
  model.text = published ? describe_published(options, entry) : describe_trunk(options);
  if (options.drop_edge > 0) model.text += fmt::format(", {} of the edges dropped", options.drop_edge);
  if (options.batch > 0) model.text += describe_batches(options);
  if (graph.weighted && !normalized) model.text += ", edge weights not used";
  model.algorithms = describe_algorithms(options, task.x.device());
  model.module = std::move(trunk);
  return model;
}

std::unique_ptr<Trunk> make_graph_classifier(const TrainOptions& options, std::int64_t in,
                                             std::int64_t edge_in, std::int64_t classes, Device device) {
  static constexpr TrunkPreset kPublished{.name = "graph_classifier", .keys = TrunkKeys::kWithDropout};
  TrunkOptions o = trunk_options(options, in, edge_in, classes);
  if (o.preset) o.preset = &kPublished, o.dropout = 0;  // it has dropout after the pooling alone
  o.input_dropout = 0;
  o.pool = options.pool;
  o.pool_dropout = options.dropout;
  // Every batch is a new graph: timing algorithms for each would take longer than the products.
  o.spmm.algorithm = spmm_of_steps(options);
  return std::make_unique<Trunk>(o, Random(options.seed), device);
}

std::string describe_graph_classifier(const TrainOptions& o) {
  return uses_trunk(o) ? fmt::format("{}, {} pooling of graphs", describe_trunk(o), name(o.pool))
                       : fmt::format("{} of graphs, {} layers, {} hidden, dropout {}, {} pooling",
                                     model_title(o), o.layers, o.hidden, o.dropout, name(o.pool));
}

std::vector<double> parse_layer_dropout(const std::string& text) {
  if (text.empty()) return {};
  return parse_option_numbers<double>("layer-dropout", text, "numbers in [0, 1), one for each hidden layer",
                                      is_probability);
}

void check_trunk(const TrainOptions& options) {
  if (traits_of(options).hops || has_relations(options)) return;
  const TrunkParts& parts = options.trunk;
  check(!traits_of(options).initial || (parts.pre_linear > 0 && parts.has_classifier()), "--model ",
        options.model,
        " keeps the width of its input: it needs --pre-linear layers and --jk or --post-linear");
  check_pre_linear(parts);
  check(!parts.pre_linear_norm || (parts.pre_linear > 0 && parts.norm != TrunkNorm::kNone),
        "--pre-linear-norm is for --pre-linear layers and --norm batch or layer: give both");
  const int hidden_layers = parts.has_classifier() ? options.layers : options.layers - 1;
  const std::vector<double> layer_dropout = parse_layer_dropout(options.layer_dropout);
  check(layer_dropout.empty() || std::ssize(layer_dropout) == hidden_layers,
        "--layer-dropout needs a number for each hidden layer, ", hidden_layers, ", got ",
        layer_dropout.size());
  check(parts.bias || !traits_of(options).batch_norm,
        "--no-bias is not for gin: its layers are networks of two linear layers, which have biases");
  check(!options.prune_rows || options.batch == 0,
        "--prune-rows is for the whole graph: the last layer of a batch computes its own nodes only");
  check(
      !options.prune_rows || parts.norm != TrunkNorm::kBatch || !parts.has_classifier(),
      "--prune-rows would change the statistics of --norm batch in the last hidden layer, which are over all "
      "nodes: not with --jk or --post-linear");
  if (!uses_trunk(options)) return;
  // A part may have one node less than the largest.
  const std::int64_t least = options.batch_by_parts ? 3 : 2;
  check(
      options.batch == 0 || options.batch >= least || !has_batch_norm(options), "--batch must be at least ",
      least, options.batch_by_parts ? " with --batch-by parts" : "", " for ",
      options.trunk.norm == TrunkNorm::kBatch ? "--norm batch" : "gin, whose layers have batch normalisation",
      ": one node has no statistics; got ", options.batch);
}

}  // namespace rodeo
