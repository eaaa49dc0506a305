#include "train/task/model_options.h"

#include <string_view>

#include "train/task/feature_form.h"

namespace rodeo {
namespace {

constexpr ModelTraits kModels[] = {
    {.kind = ModelKind::kGcn, .name = "gcn", .perceptron = true, .spmm = true},
    {.kind = ModelKind::kGat,
     .name = "gat",
     .perceptron = true,
     .heads = true,
     .attention = true,
     .decay_all = true},
    {.kind = ModelKind::kGatv2, .name = "gatv2", .perceptron = true, .heads = true, .decay_all = true},
    {.kind = ModelKind::kSage,
     .name = "sage",
     .perceptron = true,
     .spmm = true,
     .aggr = true,
     .decay_all = true},
    {.kind = ModelKind::kGin,
     .name = "gin",
     .perceptron = true,
     .spmm = true,
     .train_eps = true,
     .decay_all = true},
    {.kind = ModelKind::kSgc, .name = "sgc", .spmm = true, .hops = true, .decay_all = true},
    {.kind = ModelKind::kAppnp,
     .name = "appnp",
     .perceptron = true,
     .spmm = true,
     .hops = true,
     .teleport = true},
};

}  // namespace

const ModelTraits& traits_of(ModelKind kind) {
  for (const ModelTraits& traits : kModels)
    if (traits.kind == kind) return traits;
  fail("no such model: ", static_cast<int>(kind));
}

std::vector<ModelKind> all_models() {
  std::vector<ModelKind> all;
  for (const ModelTraits& traits : kModels) all.push_back(traits.kind);
  return all;
}

std::string model_choices() {
  std::string all;
  for (const ModelTraits& traits : kModels) {
    if (!all.empty()) all += '|';
    all += traits.name;
  }
  return all;
}

std::string_view name(ModelKind kind) {
  return traits_of(kind).name;
}

ModelKind parse_model(std::string_view text) {
  std::string choices;
  for (const ModelTraits& traits : kModels) {
    if (traits.name == text) return traits.kind;
    choices += (choices.empty() ? "" : ", ") + std::string(traits.name);
  }
  fail("unknown model '", text, "': expected one of ", choices);
}

std::string_view name(FeatureForm form) {
  return form == FeatureForm::kAuto ? "auto" : form == FeatureForm::kDense ? "dense" : "sparse";
}

FeatureForm parse_feature_form(std::string_view text) {
  for (const FeatureForm form : {FeatureForm::kAuto, FeatureForm::kDense, FeatureForm::kSparse})
    if (name(form) == text) return form;
  fail("--features must be auto, dense or sparse, got '", text, "'");
}

TrainOptions published_options(ModelKind kind) {
  TrainOptions options;
  options.model = kind;
  switch (kind) {
    case ModelKind::kGat:
    case ModelKind::kGatv2:
      options.hidden = 8;
      options.dropout = 0.6;
      options.lr = 0.005;
      break;
    case ModelKind::kGin:
      options.hidden = 64;
      break;
    case ModelKind::kSgc:
      options.epochs = 100;
      options.lr = 0.2;
      options.weight_decay = 1.3e-5;
      break;
    case ModelKind::kAppnp:
      options.hidden = 64;
      options.hops = 10;
      options.weight_decay = 5e-3;
      break;
    case ModelKind::kGcn:
    case ModelKind::kSage:
      break;
  }
  return options;
}

TrainOptions defaults_of_chosen(int argc, const char* const* argv) {
  ModelKind kind = ModelKind::kGcn;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with("--model="))
      kind = parse_model(argument.substr(std::string_view("--model=").size()));
    else if (argument == "--model" && i + 1 < argc)
      kind = parse_model(argv[++i]);
  }
  TrainOptions options = published_options(kind);
  options.choose_model = true;
  return options;
}

void describe_model_options(cxxopts::OptionAdder& model, const TrainOptions& defaults) {
  const ModelTraits& traits = traits_of(defaults.model);
  if (traits.perceptron) {
    model("hidden", traits.heads ? "Width of each head of the hidden layers" : "Width of the hidden layers",
          option_value(defaults.hidden), "N");
    model("layers", "Number of layers", option_value(defaults.layers), "N");
    model("dropout", "Probability of dropping an input of a layer", option_value(defaults.dropout), "P");
    model("input-dropout",
          defaults.model == ModelKind::kGcn
              ? "Of dropping a feature (default: that of --dropout). With 0, dense features are\n"
                "propagated once and not in every epoch: exact, because nothing changes them"
              : "Of dropping a feature (default: that of --dropout)",
          cxxopts::value<std::string>(), "P");
  }
  if (traits.heads) {
    model("heads", "Heads of the hidden layers, concatenated", option_value(defaults.heads), "N");
    model("out-heads",
          "Heads of the last layer, averaged. The paper has for PubMed:\n"
          "--out-heads 8 --weight-decay 1e-3 --lr 0.01",
          option_value(defaults.out_heads), "N");
    model("attn-dropout", "Probability of dropping an attention weight",
          option_value(defaults.attention_dropout), "P");
    model("negative-slope", "Of the scores' LeakyReLU", option_value(defaults.negative_slope), "X");
  }
  if (traits.aggr)
    model("aggr", "What becomes of the neighbours: mean, max, min or sum", option_value(name(defaults.aggr)),
          "mean|max|min|sum");
  if (traits.train_eps) model("train-eps", "Learn the weight 1 + eps of a node itself");
  if (traits.hops) model("hops", "Steps of propagation", option_value(defaults.hops), "N");
  if (traits.teleport) {
    model("alpha", "Share of a node's own prediction in every step", option_value(defaults.alpha), "X");
    model("edge-dropout", "Probability of dropping an edge in a step", option_value(defaults.edge_dropout),
          "P");
  }
}

void read_model_options(const OptionValues& values, TrainOptions& options) {
  const ModelTraits& traits = traits_of(options.model);
  if (traits.perceptron) {
    options.hidden = values.integer<std::int64_t>("hidden", 1);
    options.layers = values.integer<int>("layers", 1);
    options.dropout = values.dropout("dropout");
    if (values.given("input-dropout")) options.input_dropout = values.dropout("input-dropout");
  }
  if (traits.heads) {
    options.heads = values.integer<std::int64_t>("heads", 1);
    options.out_heads = values.integer<std::int64_t>("out-heads", 1);
    options.attention_dropout = values.dropout("attn-dropout");
    options.negative_slope = values.not_negative("negative-slope");
  }
  if (traits.aggr) options.aggr = parse_reduce(values.text("aggr"));
  if (traits.train_eps) options.train_eps = values.flag("train-eps");
  if (traits.hops) options.hops = values.integer<int>("hops", 1);
  if (traits.teleport) {
    options.alpha =
        values.number<double>("alpha", "a number in [0, 1]", [](double x) { return x >= 0 && x <= 1; });
    options.edge_dropout = values.dropout("edge-dropout");
  }
}

void read_savings(const OptionValues& values, TrainOptions& options) {
  options.features = parse_feature_form(values.text("features"));
  const std::string reason = options.features == FeatureForm::kSparse ? why_dense(options) : "";
  check(reason.empty(), "--features sparse: ", reason);
  options.reorder = parse_node_order(values.text("reorder"));
  if (options.model != ModelKind::kGcn) return;
  options.prune_rows = values.flag("prune-rows");
  check(!options.prune_rows || options.layers >= 2,
        "--prune-rows needs a layer before the last, got --layers ", options.layers);
}

void read_kernel_options(const OptionValues& values, TrainOptions& options) {
  const ModelTraits& traits = traits_of(options.model);
  if (traits.attention) options.attention = parse_attention_form(values.text("attention"));
  if (!traits.spmm) return;
  options.spmm = parse_spmm_algorithm(values.text("spmm"));
  options.explain = values.flag("explain");
  check(!options.quiet || !options.explain,
        "--explain prints a table and --quiet one line: give one of them");
  check(!options.explain || !traits.aggr || options.aggr == Reduce::kSum || options.aggr == Reduce::kMean,
        "--explain tells which sums were chosen, and --aggr ", options.aggr, " has none");
}

}  // namespace rodeo
