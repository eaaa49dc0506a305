#include "train/commands/predict_options.h"

#include <cxxopts.hpp>
#include <filesystem>

#include "core/error.h"
#include "core/host/terminal.h"
#include "train/commands/arguments.h"
#include "train/commands/help.h"
#include "train/task/model_registry.h"
#include "train/task/option_table.h"
#include "train/task/option_value.h"

namespace rodeo {
namespace {

constexpr const char* kForeign = "Model";

/// The options that the result depends on.
std::vector<TrainOption> prediction_options(const TrainOptions& defaults) {
  std::vector<TrainOption> options;
  for (TrainOption& option : option_table(defaults))
    if (option.is(OptionRole::kModel) && !option.is(OptionFlag::kDropout))
      options.push_back(std::move(option));
  return options;
}

cxxopts::Options describe(const std::string& program, const std::vector<TrainOption>& of_model) {
  cxxopts::Options options(program,
                           "Predicts the classes of a graph's nodes, or edges, with trained weights.\n");
  const auto text = [] { return cxxopts::value<std::string>(); };
  options.set_width(static_cast<std::size_t>(help_width()))
      .custom_help("--dataset FILE --weights FILE [--out FILE] [options]")
      .allow_unrecognised_options();
  auto add = options.add_options();
  add("dataset", "HDF5 file with the graph (required); labels and masks need not be there", text(), "FILE");
  add("weights",
      "Weights of --export or a checkpoint, or a folder of checkpoints: of the best epoch; or a safetensors "
      "file with PyTorch Geometric's names (required)",
      text(), "FILE");
  add("out",
      "File for the class of each node: .h5, .hdf5, .csv or .tsv. Without it, the score is printed alone",
      text(), "FILE");
  add("edges",
      "Pairs of nodes to score, for weights of --task link (required for them): a text file of two nodes a "
      "line, of several relations source, relation and target, or an HDF5 file with /edges [2, k]",
      text(), "FILE");
  add("probabilities", "Also in .csv and .tsv: a column for each class. HDF5 files always have them");
  add("logits",
      "Also write the outputs of the model, before softmax: the array logits, or columns logit_0, ...");
  add("embeddings",
      "Also write what the last layer reads: the array embedding, or columns embedding_0, ... Of "
      "weights of --task link, instead of --edges: the vectors that pairs are scored by");
  add("correct-and-smooth",
      "Propagate the errors and the labels of the training nodes over the graph after prediction (Huang et "
      "al., ICLR 2021): of one class a node");
  add("label-propagation",
      "Instead of --weights, the control without a model: propagate the labels of the training nodes over "
      "the graph, "
      "in both directions (Zhou et al., NeurIPS 2003)");
  add("per-class",
      "Print precision, recall, F1 and number of the nodes of each class, for a file with labels: "
      "of the test nodes, if there are any");
  add("device", "auto, cpu, cuda or cuda:i", text(), "NAME");
  add("quiet", "Print nothing");
  add("h,help", "Print this help");
  add("version", "Print the version");
  add_option(options, kForeign, "classes", "Number of classes (default: of the dataset's labels)", "N");
  for (const TrainOption& option : of_model)
    add_option(options, kForeign, option.name,
               option.name != "model" ? option.help
                                      : str("The model of weights that Rodeo did not write: ", model_names(),
                                            ". Each has its own options, which --model NAME --help shows"),
               option.hint, option.default_text);
  return options;
}

}  // namespace

PredictOptions parse_predict_options(int argc, const char* const* argv) {
  const std::string program = argc > 0 ? std::filesystem::path(argv[0]).filename().string() : "rodeo_predict";
  check_dashes(argc, argv);
  const Arguments arguments{{argv, argv + argc}};
  const std::string model = arguments.last_value("model");
  TrainOptions chosen = published_options(model.empty() ? TrainOptions().model : model);
  chosen.choose_model = true;
  const std::vector<TrainOption> of_model = prediction_options(chosen);
  cxxopts::Options description = describe(program, of_model);
  const cxxopts::ParseResult parsed = arguments.parse(description);
  PredictOptions options;
  if (parsed.count("help") > 0) options.notice = description.help({"", kForeign});
  if (parsed.count("version") > 0) options.notice = version_line(program);
  if (!options.notice.empty()) return options;
  for (const std::string& stray : parsed.unmatched()) {
    for (const TrainOption& option : option_table(chosen))
      if (stray == str("--", option.name) || stray.starts_with(str("--", option.name, "=")))
        fail("--", option.name, " is an option of training: predictions do not depend on it");
    if (stray.starts_with("-")) fail(unknown_option(stray, chosen.model, option_names(description)));
    fail("unexpected argument '", stray, "'; see --help");
  }
  const auto value = [&](const char* option) {
    check(parsed.count(option) > 0, "--", option, " FILE is required; see --help");
    const auto& given = parsed[option].as<std::string>();
    check(!given.empty() && !given.starts_with("--"), "--", option, " needs a value");
    return given;
  };
  options.dataset = value("dataset");
  const auto flag = [&](const char* option) { return parsed[option].as<bool>(); };
  const bool propagates = flag("label-propagation");
  if (!propagates) options.weights = value("weights");
  if (parsed.count("edges") > 0) options.edges = value("edges");
  if (parsed.count("out") > 0 || !options.edges.empty()) options.out = value("out");
  if (parsed.count("device") > 0) options.device = value("device");
  options.quiet = flag("quiet");
  options.per_class = flag("per-class");
  check(!options.quiet || !options.per_class,
        "--per-class prints a table and --quiet nothing: give one of them");
  options.probabilities = flag("probabilities");
  options.logits = flag("logits");
  options.correct_and_smooth = flag("correct-and-smooth");
  options.embeddings = flag("embeddings");
  check(
      !options.out.empty() ||
          (!options.quiet && !options.probabilities && !options.logits && !options.embeddings),
      "--quiet, --probabilities, --logits and --embeddings need --out FILE: without it, the score is printed "
      "alone");
  check(options.edges.empty() || (!options.logits && !options.embeddings),
        "--logits and --embeddings are not for --edges, which writes scores of pairs");

  const std::vector<GivenOption> given = given_options(parsed, of_model);
  if (parsed.count("classes") > 0)
    options.classes = parse_option_integer<std::int64_t>("classes", parsed["classes"].as<std::string>(), 1);
  check(!model.empty() || (given.empty() && options.classes == 0), "--",
        given.empty() ? "classes" : given.front().name,
        " needs --model NAME; without it, weights that Rodeo wrote say which model they are of");
  for (const char* other : {"weights", "model", "edges", "embeddings", "correct-and-smooth"})
    check(!propagates || parsed.count(other) == 0, "--label-propagation has no model: not with --", other);
  if (model.empty()) return options;
  apply_options(given, chosen);
  options.model = chosen;
  return options;
}

}  // namespace rodeo
