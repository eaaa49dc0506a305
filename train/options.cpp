#include "train/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cxxopts.hpp>
#include <filesystem>

#include "core/error.h"
#include "core/version.h"
#include "train/atomic_file.h"
#include "train/model_options.h"
#include "train/settings.h"

namespace rodeo {
namespace {

void describe_file_options(cxxopts::Options& options, const TrainOptions& defaults) {
  const auto file = [] { return cxxopts::value<std::string>(); };
  auto files = options.add_options("Files");
  files("checkpoint", "Folder that always holds a state from which --resume goes on", file(), "DIR");
  files("checkpoint-every", "Epochs between checkpoints; a better epoch is kept at once",
        option_value(defaults.checkpoint_every), "N");
  files("resume", "Go on from the checkpoint, with the same bits as without a break");
  files("export", "Weights of the best epoch, as safetensors", file(), "FILE");
  files("log", "JSON lines: configuration, epochs, summary; appended", file(), "FILE");
  files("csv", "A line for each epoch", file(), "FILE");
  files("tensorboard", "Folder for TensorBoard's event files", file(), "DIR");
  files("report", "One page with curves, times, confusion matrix and more", file(), "FILE.html");
  files("config", "Options in a JSON file; the command line wins", file(), "FILE");
  files("print-config", "Print all options in that form, and do nothing else");
}

void read_file_options(const OptionValues& values, const cxxopts::ParseResult& parsed,
                       TrainOptions& options) {
  const auto text = [&](const char* option) {
    return parsed.count(option) > 0 ? values.text(option) : std::string();
  };
  options.checkpoint = text("checkpoint");
  options.checkpoint_every = values.integer<int>("checkpoint-every", 1);
  options.resume = values.flag("resume");
  options.export_file = text("export");
  options.log = text("log");
  options.csv = text("csv");
  options.tensorboard = text("tensorboard");
  options.report = text("report");
  check(!options.resume || !options.checkpoint.empty(), "--resume needs --checkpoint DIR to resume from");
}

cxxopts::Options describe_options(const std::string& program, const TrainOptions& defaults) {
  const ModelTraits& traits = traits_of(defaults.model);
  cxxopts::Options options(program, "Trains a graph neural network on the nodes of one graph.\n");
  options.set_width(110)
      .custom_help(defaults.choose_model ? "--model NAME --dataset FILE [options]"
                                         : "--dataset FILE [options]")
      .allow_unrecognised_options();
  auto data = options.add_options("Data");
  data("dataset", "HDF5 file with the graph (required)", cxxopts::value<std::string>(), "FILE");
  data("split", "2: the file's split of that number, from 0; 60/20/20: a random one in percent, instead",
       cxxopts::value<std::string>(), "K|A/B/C");
  data("undirected", "Add the reverse of every edge and drop duplicates");
  data("normalize-features", "row: divide each node's features by their sum; none",
       option_value(defaults.normalize_features ? "row" : "none"), "HOW");

  auto model = options.add_options("Model");
  if (defaults.choose_model)
    model("model",
          "gcn, gat, gatv2, sage, gin, sgc or appnp (required): its own options and defaults are here",
          option_value(name(defaults.model)), "NAME");
  describe_model_options(model, defaults);

  auto training = options.add_options("Training");
  training("epochs", "Number of epochs", option_value(defaults.epochs), "N");
  training("lr", "Learning rate of Adam", option_value(defaults.lr), "X");
  training("weight-decay",
           traits.decay_all ? "L2 penalty on all parameters" : "L2 penalty on the first layer",
           option_value(defaults.weight_decay), "X");
  training("seed", "Of initial weights, dropout and --split", option_value(defaults.seed), "N");
  training("eval-every", "Epochs between evaluations", option_value(defaults.eval_every), "N");
  training("patience", "Stop after N epochs without a better validation result; 0: never",
           option_value(defaults.patience), "N");

  auto execution = options.add_options("Execution");
  execution("device", "auto, cpu, cuda or cuda:i", option_value(defaults.device), "NAME");
  if (traits.attention)
    execution("attention", "Without arrays of the edges, or step by step: auto, fused or composed",
              option_value(name(defaults.attention)), "NAME");
  if (traits.spmm)
    execution("spmm", "Sparse product: auto, rode, csr, tca or cusparse", option_value(name(defaults.spmm)),
              "NAME");
  execution("features",
            "What the first layer reads: dense, sparse (zeros are neither stored nor read: exact), or auto",
            option_value(name(defaults.features)), "NAME");
  if (defaults.model == ModelKind::kGcn)
    execution("prune-rows",
              "In training steps the last layer computes only the training nodes, which alone have a loss:\n"
              "exact, for evaluations have all. Pays where they are few");
  execution("tf32", "Let matrix products round their inputs to TF32");
  execution("no-graph", "On CUDA, launch every kernel by itself instead of replaying a captured graph");

  describe_file_options(options, defaults);
  auto output = options.add_options("Output");
  if (traits.spmm) output("explain", "Tell at the end which sparse kernels ran, and why");
  output("quiet", "Print the result only, in one line");
  output("h,help", "Print this help");
  output("version", "Print the version");
  return options;
}

cxxopts::ParseResult parse(cxxopts::Options& options, const TrainOptions& defaults, int argc,
                           const char* const* argv) {
  try {
    return options.parse(argc, argv);
  } catch (const cxxopts::exceptions::missing_argument&) {
    fail(argv[argc - 1], " needs a value");  // only the last argument can lack one
  } catch (const cxxopts::exceptions::exception&) {
    // All others take any.
    const ModelTraits& traits = traits_of(defaults.model);
    fail("--undirected, ", traits.train_eps ? "--train-eps, " : "",
         defaults.model == ModelKind::kGcn ? "--prune-rows, " : "", "--tf32, --no-graph, ",
         traits.spmm ? "--explain, " : "",
         "--resume, --print-config, --quiet, --help and --version take no value");
  }
}

}  // namespace

namespace {

TrainOptions parse_arguments(int argc, const char* const* argv, const TrainOptions& given) {
  const TrainOptions defaults = given.choose_model ? defaults_of_chosen(argc, argv) : given;
  const std::string program = argc > 0 ? std::filesystem::path(argv[0]).filename().string() : "train";
  cxxopts::Options description = describe_options(program, defaults);
  const cxxopts::ParseResult parsed = parse(description, defaults, argc, argv);
  const OptionValues values(parsed);

  TrainOptions options = defaults;
  if (values.flag("help")) {
    options.notice = description.help({"Data", "Model", "Training", "Execution", "Files", "Output"});
    return options;
  }
  if (values.flag("version")) {
    options.notice = str(program, " ", RODEO_VERSION, " (", RODEO_COMMIT, ")\n");
    return options;
  }

  read_model_options(values, options);
  options.epochs = values.integer<int>("epochs", 1);
  options.seed = values.integer<std::uint64_t>("seed", 0);
  options.eval_every = values.integer<int>("eval-every", 1);
  options.patience = values.integer<int>("patience", 0);
  options.lr =
      values.number<double>("lr", "a number above 0", [](double x) { return x > 0 && std::isfinite(x); });
  options.weight_decay = values.not_negative("weight-decay");

  const std::string normalize = values.text("normalize-features");
  check(normalize == "row" || normalize == "none", "--normalize-features must be row or none, got '",
        normalize, "'");
  options.normalize_features = normalize == "row";
  options.undirected = values.flag("undirected");
  options.device = values.text("device");
  read_savings(values, options);
  options.tf32 = values.flag("tf32");
  options.graph = !values.flag("no-graph");
  options.quiet = values.flag("quiet");
  read_kernel_options(values, options);
  read_file_options(values, parsed, options);
  if (parsed.count("split") > 0) options.split = values.text("split");

  for (const std::string& stray : parsed.unmatched())
    fail(stray.starts_with("-") ? "unknown option '" : "unexpected argument '", stray, "'; see --help");
  check(!options.choose_model || parsed.count("model") > 0,
        "--model NAME is required: one of gcn, gat, gatv2, sage, gin, sgc, appnp; see --help");
  const bool print_config = values.flag("print-config");
  check(print_config || parsed.count("dataset") > 0, "--dataset FILE is required; see --help");
  if (parsed.count("dataset") > 0) options.dataset = values.text("dataset");
  if (print_config) options.notice = to_json(settings_of(options), /*lines=*/true);
  return options;
}

/// What --config names, or nothing.
std::string config_file(int argc, const char* const* argv) {
  std::string file;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with("--config="))
      file = argument.substr(std::string_view("--config=").size());
    else if (argument == "--config" && i + 1 < argc)
      file = argv[++i];
  }
  return file;
}

}  // namespace

TrainOptions parse_train_options(int argc, const char* const* argv, const TrainOptions& given) {
  const std::string file = config_file(argc, argv);
  if (file.empty() || file.starts_with("--")) return parse_arguments(argc, argv, given);

  constexpr std::size_t kMaxBytes = 1 << 20;
  const std::vector<std::string> arguments = arguments_of(read_file(file, kMaxBytes), file);
  std::vector<const char*> all = {argc > 0 ? argv[0] : "train"};
  std::vector<std::string> keys;
  for (const std::string& argument : arguments) {
    keys.push_back(argument.substr(2, argument.find('=') - 2));
    if (keys.back() != "model" || given.choose_model)
      all.push_back(argument.c_str());
    else
      check(argument == str("--model=", name(given.model)), file, ": 'model' must be ", name(given.model),
            " for this command, got '", argument.substr(argument.find('=') + 1), "'");
  }
  all.insert(all.end(), argv + 1, argv + argc);
  try {
    return parse_arguments(static_cast<int>(all.size()), all.data(), given);
  } catch (const Error& error) {
    // Where the file has it and the command line does not, the file is to blame.
    const std::string text = error.what();
    for (std::size_t i = 0; i < keys.size(); ++i) {
      check(!text.starts_with(str("unknown option '", arguments[i], "'")), file, ": unknown key '", keys[i],
            "'; see --help");
      const bool overridden = std::any_of(argv + 1, argv + argc, [&](const char* argument) {
        return argument == "--" + keys[i] || std::string_view(argument).starts_with("--" + keys[i] + "=");
      });
      check(overridden || !text.starts_with("--" + keys[i] + " "), file, ": ", text);
    }
    throw;
  }
}

}  // namespace rodeo
