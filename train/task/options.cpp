#include "train/task/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cxxopts.hpp>
#include <filesystem>

#include "core/error.h"
#include "core/version.h"
#include "train/commands/completion.h"
#include "train/io/atomic_file.h"
#include "train/task/model_options.h"
#include "train/task/run.h"
#include "train/task/settings.h"

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
  files("trace", "Kernels of the profiled epochs, for Perfetto or chrome://tracing", file(), "FILE.json");
  files("config", "Options in a JSON file; the command line wins", file(), "FILE");
  files("print-config", "Print all options in that form, and do nothing else");
}

void read_training_options(const OptionValues& values, const cxxopts::ParseResult& parsed,
                           TrainOptions& options) {
  using Kind = LrScheduleOptions::Kind;
  LrScheduleOptions& schedule = options.schedule;
  schedule.kind = parse_lr_schedule(values.text("lr-schedule"));
  const auto belongs = [&](const char* option, Kind one, Kind other, const char* text) {
    check(parsed.count(option) == 0 || schedule.kind == one || schedule.kind == other, "--", option,
          " belongs to --lr-schedule ", text);
  };
  belongs("lr-step", Kind::kStep, Kind::kStep, "step");
  belongs("lr-factor", Kind::kStep, Kind::kPlateau, "step or plateau");
  belongs("lr-period", Kind::kCosine, Kind::kCosine, "cosine");
  belongs("lr-least", Kind::kCosine, Kind::kPlateau, "cosine or plateau");
  belongs("lr-patience", Kind::kPlateau, Kind::kPlateau, "plateau");
  schedule.step = values.integer<int>("lr-step", 1);
  schedule.factor =
      values.number<double>("lr-factor", "a number in (0, 1]", [](double x) { return x > 0 && x <= 1; });
  schedule.period = values.integer<int>("lr-period", 0);
  if (schedule.period == 0) schedule.period = options.epochs;
  schedule.least = values.not_negative("lr-least");
  schedule.patience = values.integer<int>("lr-patience", 0);
  options.clip_norm = values.not_negative("clip-norm");
  const std::string on_nan = values.text("on-nan");
  check(on_nan == "stop" || on_nan == "continue", "--on-nan must be stop or continue, got '", on_nan, "'");
  options.stop_at_nan = on_nan == "stop";
  options.debug = values.flag("debug");
  options.profile = values.flag("profile");
  check(!options.debug || options.stop_at_nan,
        "--debug stops at the first result that is not finite: not with --on-nan continue");
  check(!options.profile || !options.quiet,
        "--profile prints a table and --quiet one line: give one of them");
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
  options.trace = text("trace");
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
       option_value(defaults.normalize_features ? "row" : "none"), "row|none");

  auto model = options.add_options("Model");
  if (defaults.choose_model)
    model("model",
          "gcn, gat, gatv2, sage, gin, sgc or appnp (required): its own options and defaults are here",
          option_value(name(defaults.model)), model_choices());
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

  training("lr-schedule",
           "How the learning rate falls: by PyTorch's StepLR, CosineAnnealingLR or ReduceLROnPlateau",
           option_value(name(defaults.schedule.kind)), "none|step|cosine|plateau");
  training("lr-step", "step: epochs between reductions", option_value(defaults.schedule.step), "N");
  training("lr-factor", "step, plateau: what the rate is multiplied by",
           option_value(defaults.schedule.factor), "X");
  training("lr-period", "cosine: epochs down to the least rate; 0: --epochs", option_value(0), "N");
  training("lr-least", "cosine, plateau: the least rate", option_value(defaults.schedule.least), "X");
  training("lr-patience", "plateau: evaluations without a lower validation loss that are borne",
           option_value(defaults.schedule.patience), "N");
  training("clip-norm", "Scale the gradients to at most this norm together; 0: leave them",
           option_value(defaults.clip_norm), "X");
  training("on-nan", "At a loss that is not a finite number: stop with exit code 3, or continue",
           option_value("stop"), "stop|continue");

  auto execution = options.add_options("Execution");
  execution("device", "auto, cpu, cuda or cuda:i", option_value(defaults.device), "auto|cpu|cuda");
  if (traits.attention)
    execution("attention", "Without arrays of the edges, or step by step: auto, fused or composed",
              option_value(name(defaults.attention)), "auto|fused|composed");
  if (traits.spmm)
    execution("spmm", "Sparse product: auto, rode, csr, tca or cusparse", option_value(name(defaults.spmm)),
              "auto|rode|csr|tca|cusparse");
  execution("features",
            "What the first layer reads: dense, sparse (zeros are neither stored nor read: exact), or auto",
            option_value(name(defaults.features)), "auto|dense|sparse");
  execution(
      "reorder",
      "Train on the nodes in another order, in which the memory of neighbours lies closer: the results\n"
      "are those of the file's nodes. rabbit: by communities; rcm: reverse Cuthill-McKee; degree",
      option_value(name(defaults.reorder)), "none|degree|rcm|rabbit");
  if (defaults.model == ModelKind::kGcn)
    execution("prune-rows",
              "In training steps the last layer computes only the training nodes, which alone have a loss:\n"
              "exact, for evaluations have all. Pays where they are few");
  execution(
      "precision",
      "fp32; tf32: matrix products round their inputs to 10 bits; bf16: features and activations take half\n"
      "the bytes, parameters and sums stay fp32. Both are meant for CUDA: the CPU ignores tf32, and is\n"
      "slower with bf16",
      option_value(name(defaults.precision)), "fp32|tf32|bf16");
  execution("no-graph", "On CUDA, launch every kernel by itself instead of replaying a captured graph");

  describe_file_options(options, defaults);
  auto output = options.add_options("Output");
  if (traits.spmm) output("explain", "Tell at the end which sparse kernels ran, and why");
  output("profile", "Time every kernel of the profiled epochs, and print a table at the end");
  output("debug",
         "Look at every kernel's result, and stop at the first that is not finite; no captured graph");
  output("dry-run",
         "Load the data, print what would be trained and what memory it takes, and do nothing else");
  output("list-devices", "Print the devices, and do nothing else");
  output("completion", "Print a completion script for this command, and do nothing else",
         cxxopts::value<std::string>(), "bash|zsh");
  output("quiet", "Print the result only, in one line");
  output("h,help", "Print this help");
  output("version", "Print the version");
  return options;
}

/// What the command knows, of every model that it trains.
std::vector<ModelTable> tables_of(const std::string& program, const TrainOptions& given) {
  if (!given.choose_model) return {{"", describe_options(program, given)}};
  std::vector<ModelTable> tables;
  for (const ModelKind kind : all_models()) {
    TrainOptions defaults = published_options(kind);
    defaults.choose_model = true;
    tables.push_back({std::string(name(kind)), describe_options(program, defaults)});
  }
  return tables;
}

bool is_flag(const cxxopts::Options& options, std::string_view option) {
  for (const std::string& group : options.groups())
    for (const cxxopts::HelpOptionDetails& details : options.group_help(group).options)
      if (details.is_boolean && !details.l.empty() && details.l.front() == option) return true;
  return false;
}

cxxopts::ParseResult parse(cxxopts::Options& options, int argc, const char* const* argv) {
  try {
    return options.parse(argc, argv);
  } catch (const cxxopts::exceptions::missing_argument&) {
    fail(argv[argc - 1], " needs a value");  // only the last argument can lack one
  } catch (const cxxopts::exceptions::exception& error) {
    // All others take any.
    for (int i = 1; i < argc; ++i) {
      const std::string_view argument = argv[i];
      const std::size_t end = argument.find('=');
      if (!argument.starts_with("--") || end == std::string_view::npos) continue;
      const std::string_view option = argument.substr(2, end - 2), value = argument.substr(end + 1);
      check(!is_flag(options, option) || value == "true" || value == "false", "--", option,
            " takes no value, got '", value, "'");
    }
    fail("the command line cannot be read: ", error.what());
  }
}

}  // namespace

namespace {

TrainOptions parse_arguments(int argc, const char* const* argv, const TrainOptions& given) {
  const TrainOptions defaults = given.choose_model ? defaults_of_chosen(argc, argv) : given;
  const std::string program = argc > 0 ? std::filesystem::path(argv[0]).filename().string() : "train";
  cxxopts::Options description = describe_options(program, defaults);
  const cxxopts::ParseResult parsed = parse(description, argc, argv);
  const OptionValues values(parsed);

  TrainOptions options = defaults;
  if (values.flag("help")) {
    options.notice = description.help({"Data", "Model", "Training", "Execution", "Files", "Output"}) + "\n" +
                     exit_code_help();
    return options;
  }
  if (values.flag("list-devices")) {
    options.notice = list_devices();
    return options;
  }
  if (parsed.count("completion") > 0) {
    options.notice = completion_script(values.text("completion"), program, tables_of(program, given));
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
  options.precision = parse_precision(values.text("precision"));
  options.graph = !values.flag("no-graph");
  options.quiet = values.flag("quiet");
  options.dry_run = values.flag("dry-run");
  read_kernel_options(values, options);
  read_training_options(values, parsed, options);
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
