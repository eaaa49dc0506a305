#include "train/task/trunk_model.h"

#include <fmt/format.h>

#include "models/trunk.h"
#include "train/task/batch_models.h"
#include "train/task/model_registry.h"
#include "train/task/option_value.h"

namespace rodeo {
namespace {

TrunkConv convolution_of(std::string_view model) {
  for (const TrunkConv conv :
       {TrunkConv::kGcn, TrunkConv::kGat, TrunkConv::kGatv2, TrunkConv::kSage, TrunkConv::kGin})
    if (name(conv) == model) return conv;
  fail("model '", model, "' has no trunk");
}

TrunkActivation published_activation(const TrainOptions& options) {
  return published_options(options.model, options.task).trunk.activation;
}

/// "gcn, 3 layers, 512 hidden, dropout 0.7, batch norm, residual"
std::string describe(const TrainOptions& o, TrunkConv conv, const ModelGraph& graph) {
  const TrunkParts& parts = o.trunk;
  std::string text = fmt::format("trunk of {}, {} layers, ", o.model, o.layers);
  if (traits_of(o).heads)
    text += fmt::format("{} head{} x {} hidden, ", o.heads, o.heads == 1 ? "" : "s", o.hidden);
  else
    text += fmt::format("{} hidden, ", o.hidden);
  text += o.layer_dropout.empty() ? fmt::format("dropout {}", o.dropout)
                                  : fmt::format("dropout {}", o.layer_dropout);
  if (const double p = o.input_dropout.value_or(o.dropout); p != o.dropout)
    text += fmt::format(" ({} of features)", p);
  if (traits_of(o).heads) text += fmt::format(", attention dropout {}", o.attention_dropout);
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
  if (o.batch > 0) text += describe_batches(o);
  if (graph.weighted && conv != TrunkConv::kGcn) text += ", edge weights not used";
  return text;
}

/// A damaged file of weights may ask for billions.
void check_pre_linear(const TrunkParts& parts) {
  constexpr std::int64_t kMost = 64;
  check(parts.pre_linear <= kMost, "--pre-linear must be at most ", kMost, ", got ", parts.pre_linear);
}

}  // namespace

bool uses_trunk(const TrainOptions& options) {
  const TrunkParts& parts = options.trunk;
  // Of the models with classes of their own, SAGE alone has a form for mini-batches.
  const bool sampled = options.batch > 0 && options.model != "sage";
  return traits_of(options).trunk &&
         (options.use_trunk || sampled || parts.norm != TrunkNorm::kNone || parts.residual ||
          parts.has_classifier() || parts.pre_linear > 0 || !options.layer_dropout.empty() || !parts.bias ||
          parts.activation != published_activation(options));
}

NodeModel make_trunk(const TrainOptions& options, const NodeTask& task, const ModelGraph& graph) {
  check_pre_linear(options.trunk);
  const TrunkConv conv = convolution_of(options.model);
  auto trunk = std::make_unique<Trunk>(
      TrunkOptions{.in = task.num_features,
                   .hidden = options.hidden,
                   .classes = task.num_classes,
                   .layers = options.layers,
                   .dropout = options.dropout,
                   .input_dropout = options.input_dropout,
                   .layer_dropout = parse_layer_dropout(options.layer_dropout),
                   .conv = conv,
                   .parts = options.trunk,
                   .heads = options.heads,
                   .out_heads = options.out_heads,
                   .attention_dropout = options.attention_dropout,
                   .negative_slope = options.negative_slope,
                   .form = options.attention,
                   .sddmm = {options.sddmm},
                   .aggr = options.aggr,
                   .train_eps = options.train_eps,
                   .spmm = {.algorithm = options.spmm, .accumulate = options.spmm_accumulate}},
      Random(options.seed), task.x.device());
  NodeModel model;
  model.groups = {{trunk->parameters(), {.lr = options.lr, .weight_decay = options.weight_decay}}};
  const GcnGraph read = conv == TrunkConv::kGcn ? graph.normalized : GcnGraph{graph.adj, {}, {}};
  model.forward = [trunk = trunk.get(), read, x = task.x] { return trunk->forward(read, x); };
  if (options.batch > 0) train_on_batches(model, *trunk, options, task, read);
  model.text = describe(options, conv, graph);
  if (traits_of(options).heads)
    model.algorithms = describe_attention(options);
  else
    model.algorithms = fmt::format("spmm {}", name(options.spmm));
  if (options.spmm_accumulate != Accumulate::kOrdered)
    model.algorithms += fmt::format(" {}", name(options.spmm_accumulate));
  model.module = std::move(trunk);
  return model;
}

std::vector<double> parse_layer_dropout(std::string_view text) {
  std::vector<double> probabilities;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    probabilities.push_back(parse_option_number<double>("layer-dropout", std::string(text.substr(0, comma)),
                                                        "numbers in [0, 1), one for each hidden layer",
                                                        [](double p) { return p >= 0 && p < 1; }));
    if (comma == text.npos) break;
    text.remove_prefix(comma + 1);
    check(!text.empty(), "--layer-dropout ends with a comma: expected a number for each hidden layer");
  }
  return probabilities;
}

void check_trunk(const TrainOptions& options) {
  if (!traits_of(options).trunk) return;
  const TrunkParts& parts = options.trunk;
  check_pre_linear(parts);
  check(!parts.pre_linear_norm || (parts.pre_linear > 0 && parts.norm != TrunkNorm::kNone),
        "--pre-linear-norm is for --pre-linear layers and --norm batch or layer: give both");
  const int hidden_layers = parts.has_classifier() ? options.layers : options.layers - 1;
  const std::vector<double> layer_dropout = parse_layer_dropout(options.layer_dropout);
  check(layer_dropout.empty() || std::ssize(layer_dropout) == hidden_layers,
        "--layer-dropout needs a number for each hidden layer, ", hidden_layers, ", got ",
        layer_dropout.size());
  check(parts.bias || options.model != "gin",
        "--no-bias is not for gin: its layers are networks of two linear layers, which have biases");
  if (!uses_trunk(options)) return;
  // A part may have one node less than the largest.
  const std::int64_t least = options.batch_by_parts ? 3 : 2;
  check(
      options.batch == 0 || options.batch >= least || !has_batch_norm(options), "--batch must be at least ",
      least, options.batch_by_parts ? " with --batch-by parts" : "", " for ",
      options.trunk.norm == TrunkNorm::kBatch ? "--norm batch" : "gin, whose layers have batch normalisation",
      ": one node has no statistics; got ", options.batch);
  check(!options.edge_features || options.task != TaskKind::kNode,
        "--edge-features is for the published models: not with --batch, --norm, --residual, --jk, --act, "
        "--pre-linear, --post-linear, --no-bias and --layer-dropout");
  check(!options.prune_rows,
        "--prune-rows is for the published GCN: not with --norm, --residual, --jk, --act, --pre-linear, "
        "--post-linear, --no-bias and --layer-dropout");
}

}  // namespace rodeo
