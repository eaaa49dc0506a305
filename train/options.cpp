#include "train/options.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cxxopts.hpp>
#include <filesystem>
#include <limits>

#include "core/error.h"
#include "core/version.h"

namespace rodeo {
namespace {

cxxopts::Options describe_options(const std::string& program, const TrainOptions& defaults) {
  const bool gat = defaults.model == ModelKind::kGat;
  // Values are read as text and converted here, so that an error names the option and its range.
  const auto value = [](const auto& initial) {
    return cxxopts::value<std::string>()->default_value(fmt::format("{}", initial));
  };
  cxxopts::Options options(program, "Trains a graph neural network on the nodes of one graph.\n");
  options.set_width(110).custom_help("--dataset FILE [options]").allow_unrecognised_options();
  auto data = options.add_options("Data");
  data("dataset", "HDF5 file with the graph (required)", cxxopts::value<std::string>(), "FILE");
  data("split", "Random split in percent instead of the file's masks, e.g. 60/20/20",
       cxxopts::value<std::string>(), "A/B/C");
  data("undirected", "Add the reverse of every edge and drop duplicates");
  data("normalize-features", "row: divide each node's features by their sum; none",
       value(defaults.normalize_features ? "row" : "none"), "HOW");

  auto model = options.add_options("Model");
  model("hidden", gat ? "Width of each head of the hidden layers" : "Width of the hidden layers",
        value(defaults.hidden), "N");
  model("layers", "Number of layers", value(defaults.layers), "N");
  model("dropout", "Probability of dropping an input of a layer", value(defaults.dropout), "P");
  if (gat) {
    model("heads", "Heads of the hidden layers, concatenated", value(defaults.heads), "N");
    model("out-heads",
          "Heads of the last layer, averaged. The paper has for PubMed:\n"
          "--out-heads 8 --weight-decay 1e-3 --lr 0.01",
          value(defaults.out_heads), "N");
    model("attn-dropout", "Probability of dropping an attention weight", value(defaults.attention_dropout),
          "P");
    model("negative-slope", "Of the scores' LeakyReLU", value(defaults.negative_slope), "X");
  }

  auto training = options.add_options("Training");
  training("epochs", "Number of epochs", value(defaults.epochs), "N");
  training("lr", "Learning rate of Adam", value(defaults.lr), "X");
  training("weight-decay", gat ? "L2 penalty on all parameters" : "L2 penalty on the first layer",
           value(defaults.weight_decay), "X");
  training("seed", "Of initial weights, dropout and --split", value(defaults.seed), "N");
  training("eval-every", "Epochs between evaluations", value(defaults.eval_every), "N");
  training("patience", "Stop after N epochs without a better validation result; 0: never",
           value(defaults.patience), "N");

  auto execution = options.add_options("Execution");
  execution("device", "auto, cpu, cuda or cuda:i", value(defaults.device), "NAME");
  if (gat)
    execution("attention", "Without arrays of the edges, or step by step: auto, fused or composed",
              value(name(defaults.attention)), "NAME");
  else
    execution("spmm", "Sparse product: auto, rode, csr, tca or cusparse", value(name(defaults.spmm)), "NAME");
  execution("tf32", "Let matrix products round their inputs to TF32");
  execution("no-graph", "On CUDA, launch every kernel by itself instead of replaying a captured graph");

  auto output = options.add_options("Output");
  if (!gat) output("explain", "Tell at the end which sparse kernels ran, and why");
  output("quiet", "Print the result only, in one line");
  output("h,help", "Print this help");
  output("version", "Print the version");
  return options;
}

/// One parsed command line; every getter throws an Error that names its option.
class Values {
 public:
  explicit Values(const cxxopts::ParseResult& parsed) : parsed_(parsed) {}

  bool flag(const std::string& option) const { return parsed_[option].as<bool>(); }

  std::string text(const std::string& option) const {
    const auto& value = parsed_[option].as<std::string>();
    check(!value.empty() && !value.starts_with("--"), "--", option, " needs a value");
    return value;
  }

  template <class T>
  T integer(const std::string& option, T lowest) const {
    return number<T>(option, str("an integer of at least ", lowest),
                     [&](T value) { return value >= lowest; });
  }

  /// `rule` completes "must be ..."; `holds` is false for NaN.
  template <class T, class Holds>
  T number(const std::string& option, const std::string& rule, Holds&& holds) const {
    const std::string given = text(option);
    T value{};
    const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), value);
    check(error == std::errc{} && end == given.data() + given.size() && holds(value), "--", option,
          " must be ", rule, ", got '", given, "'");
    return value;
  }

 private:
  const cxxopts::ParseResult& parsed_;
};

cxxopts::ParseResult parse(cxxopts::Options& options, ModelKind model, int argc, const char* const* argv) {
  try {
    return options.parse(argc, argv);
  } catch (const cxxopts::exceptions::missing_argument&) {
    fail(argv[argc - 1], " needs a value");  // only the last argument can lack one
  } catch (const cxxopts::exceptions::exception&) {
    // All others take any.
    fail("--undirected, --tf32, --no-graph, ", model == ModelKind::kGat ? "" : "--explain, ",
         "--quiet, --help and --version take no value");
  }
}

// A probability of dropping something.
double dropout(const Values& values, const std::string& option) {
  return values.number<double>(option, "a number in [0, 1)", [](double p) { return p >= 0 && p < 1; });
}

double not_negative(const Values& values, const std::string& option) {
  return values.number<double>(option, "a number of at least 0",
                               [](double x) { return x >= 0 && std::isfinite(x); });
}

void read_gcn(const Values& values, TrainOptions& options) {
  options.spmm = parse_spmm_algorithm(values.text("spmm"));
  options.explain = values.flag("explain");
  check(!options.quiet || !options.explain,
        "--explain prints a table and --quiet one line: give one of them");
}

void read_gat(const Values& values, TrainOptions& options) {
  options.heads = values.integer<std::int64_t>("heads", 1);
  options.out_heads = values.integer<std::int64_t>("out-heads", 1);
  options.attention_dropout = dropout(values, "attn-dropout");
  options.negative_slope = not_negative(values, "negative-slope");
  options.attention = parse_attention_form(values.text("attention"));
}

}  // namespace

std::string_view name(ModelKind kind) {
  return kind == ModelKind::kGat ? "gat" : "gcn";
}

TrainOptions published_options(ModelKind kind) {
  TrainOptions options;
  options.model = kind;
  if (kind == ModelKind::kGat) {
    options.hidden = 8;
    options.dropout = 0.6;
    options.lr = 0.005;
  }
  return options;
}

TrainOptions parse_train_options(int argc, const char* const* argv, const TrainOptions& defaults) {
  const std::string program = argc > 0 ? std::filesystem::path(argv[0]).filename().string() : "train";
  cxxopts::Options description = describe_options(program, defaults);
  const cxxopts::ParseResult parsed = parse(description, defaults.model, argc, argv);
  const Values values(parsed);

  TrainOptions options = defaults;
  if (values.flag("help")) {
    options.notice = description.help({"Data", "Model", "Training", "Execution", "Output"});
    return options;
  }
  if (values.flag("version")) {
    options.notice = str(program, " ", RODEO_VERSION, " (", RODEO_COMMIT, ")\n");
    return options;
  }

  options.hidden = values.integer<std::int64_t>("hidden", 1);
  options.layers = values.integer<int>("layers", 1);
  options.epochs = values.integer<int>("epochs", 1);
  options.seed = values.integer<std::uint64_t>("seed", 0);
  options.eval_every = values.integer<int>("eval-every", 1);
  options.patience = values.integer<int>("patience", 0);
  options.dropout = dropout(values, "dropout");
  options.lr =
      values.number<double>("lr", "a number above 0", [](double x) { return x > 0 && std::isfinite(x); });
  options.weight_decay = not_negative(values, "weight-decay");

  const std::string normalize = values.text("normalize-features");
  check(normalize == "row" || normalize == "none", "--normalize-features must be row or none, got '",
        normalize, "'");
  options.normalize_features = normalize == "row";
  options.undirected = values.flag("undirected");
  options.device = values.text("device");
  options.tf32 = values.flag("tf32");
  options.graph = !values.flag("no-graph");
  options.quiet = values.flag("quiet");
  if (options.model == ModelKind::kGat)
    read_gat(values, options);
  else
    read_gcn(values, options);
  if (parsed.count("split") > 0) options.split = values.text("split");

  for (const std::string& stray : parsed.unmatched())
    fail(stray.starts_with("-") ? "unknown option '" : "unexpected argument '", stray, "'; see --help");
  check(parsed.count("dataset") > 0, "--dataset FILE is required; see --help");
  options.dataset = values.text("dataset");
  return options;
}

}  // namespace rodeo
