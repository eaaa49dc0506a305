#include "train/commands/predict.h"

#include <fmt/format.h>

#include <cmath>
#include <cxxopts.hpp>
#include <filesystem>

#include "core/version.h"
#include "datasets/hdf5_writer.h"
#include "train/commands/console.h"
#include "train/commands/device_text.h"
#include "train/commands/help.h"
#include "train/commands/run_command.h"
#include "train/io/run_state.h"
#include "train/report/analysis.h"
#include "train/task/node_model.h"

namespace rodeo {
namespace {

/// Row-wise softmax, computed in double.
Tensor softmax(const Tensor& logits) {
  const std::vector<double> in = logits.to(kCpu).to(DType::kF64).to_vector<double>();
  const Tensor out = Tensor::empty(logits.shape());
  const std::int64_t classes = logits.dim(1);
  for (std::int64_t i = 0; i < logits.dim(0); ++i) {
    const double* row = in.data() + i * classes;
    double most = row[0], sum = 0;
    for (std::int64_t j = 1; j < classes; ++j) most = std::max(most, row[j]);
    for (std::int64_t j = 0; j < classes; ++j) sum += std::exp(row[j] - most);
    for (std::int64_t j = 0; j < classes; ++j)
      out.data<float>()[i * classes + j] = static_cast<float>(std::exp(row[j] - most) / sum);
  }
  return out;
}

/// Probabilities for several labels per node.
Tensor sigmoid(const Tensor& logits) {
  const std::vector<double> in = logits.to(DType::kF64).to_vector<double>();
  std::vector<float> out;
  for (const double x : in) out.push_back(static_cast<float>(1 / (1 + std::exp(-x))));
  return Tensor::from(out, logits.shape());
}

/// 1 where the probability is above 0.5.
Tensor above_half(const Tensor& logits) {
  std::vector<std::uint8_t> out;
  for (const double x : logits.to(DType::kF64).to_vector<double>()) out.push_back(x > 0 ? 1 : 0);
  return Tensor::from(out, logits.shape());
}

/// "0.8150 on 1000 test nodes"; empty without labels.
std::string accuracy(const std::vector<std::int64_t>& predicted, const Dataset& dataset) {
  if (!dataset.y.defined() || dataset.multi_label()) return {};
  const std::vector<std::int64_t> label = dataset.y.to_vector<std::int64_t>();
  std::vector<std::int64_t> nodes;
  const bool test = dataset.split.test.defined() && dataset.split.test.numel() > 0;
  if (test)
    nodes = dataset.split.test.to(DType::kI64).to_vector<std::int64_t>();
  else
    for (std::int64_t i = 0; i < dataset.num_nodes; ++i) nodes.push_back(i);
  std::int64_t known = 0, right = 0;
  for (const std::int64_t node : nodes) {
    const auto i = static_cast<std::size_t>(node);
    if (label[i] < 0) continue;
    ++known;
    right += label[i] == predicted[i];
  }
  if (known == 0) return {};
  return fmt::format("{:.4f} on {} {}", static_cast<double>(right) / static_cast<double>(known), known,
                     test ? "test nodes" : "nodes with a label");
}

}  // namespace

PredictOptions parse_predict_options(int argc, const char* const* argv) {
  const std::string program = argc > 0 ? std::filesystem::path(argv[0]).filename().string() : "rodeo_predict";
  cxxopts::Options description(program, "Predicts the classes of a graph's nodes with trained weights.\n");
  const auto text = [] { return cxxopts::value<std::string>(); };
  description.set_width(static_cast<std::size_t>(help_width()))
      .custom_help("--dataset FILE --weights FILE --out FILE [options]")
      .allow_unrecognised_options()
      .add_options()("dataset", "HDF5 file with the graph (required); labels and masks need not be there",
                     text(), "FILE")(
          "weights",
          "Weights of --export or a checkpoint, or a folder of checkpoints: of the best epoch "
          "(required)",
          text(), "FILE")("out", "HDF5 file with class and probability (required)", text(), "FILE")(
          "device", "auto, cpu, cuda or cuda:i", text(), "NAME")("quiet", "Print nothing")(
          "h,help", "Print this help")("version", "Print the version");
  cxxopts::ParseResult parsed;
  try {
    parsed = description.parse(argc, argv);
  } catch (const cxxopts::exceptions::missing_argument&) {
    fail(argv[argc - 1], " needs a value");
  } catch (const cxxopts::exceptions::exception&) {
    fail("--quiet, --help and --version take no value");
  }
  PredictOptions options;
  if (parsed.count("help") > 0) options.notice = description.help();
  if (parsed.count("version") > 0)
    options.notice = str(program, " ", RODEO_VERSION, " (", RODEO_COMMIT, ")\n");
  if (!options.notice.empty()) return options;
  for (const std::string& stray : parsed.unmatched())
    fail(stray.starts_with("-") ? "unknown option '" : "unexpected argument '", stray, "'; see --help");
  const auto value = [&](const char* option) {
    check(parsed.count(option) > 0, "--", option, " FILE is required; see --help");
    const auto& given = parsed[option].as<std::string>();
    check(!given.empty() && !given.starts_with("--"), "--", option, " needs a value");
    return given;
  };
  options.dataset = value("dataset");
  options.weights = value("weights");
  options.out = value("out");
  if (parsed.count("device") > 0) options.device = value("device");
  options.quiet = parsed.count("quiet") > 0;
  return options;
}

void predict(const PredictOptions& options) {
  const Device device = parse_device(options.device);
  const Console console(options.quiet);
  console.say("device", describe_device(options.device, device));
  const std::string file = find_weights(options.weights);
  const SafeTensors weights = read_safetensors(file);
  const WeightsInfo info = read_info(weights, file);
  Hdf5Writer out(options.out);  // opened early, so that an unwritable file fails now

  Dataset dataset = load_dataset(options.dataset);
  check(dataset.has_features(), options.dataset, ": has no features");
  check(dataset.num_features == info.num_features, options.dataset, ": has ", dataset.num_features,
        " features, the weights in ", file, " are for ", info.num_features);
  console.say("dataset", fmt::format("{}: {} nodes, {} edges, {} features", dataset.name, dataset.num_nodes,
                                     dataset.num_edges(), dataset.num_features));
  const Dataset known = [&] {  // labels and masks only, on the host
    Dataset part;
    part.num_nodes = dataset.num_nodes;
    part.y = dataset.y;
    part.split = dataset.split;
    part.node_id = dataset.node_id;
    return part;
  }();
  // Placeholders: a NodeTask needs labels and a split, the model does not read them.
  dataset.num_classes = info.num_classes;
  dataset.y = Tensor::zeros({dataset.num_nodes}, DType::kI64);
  const Tensor nobody = Tensor::zeros({0}, DType::kI64);
  dataset.split = {nobody, nobody, nobody};

  const std::string name = dataset.name;
  const NodeRun run = make_run(std::move(dataset), info.options, device);
  try {
    run.model.module->load_state_dict(weights.tensors);
  } catch (const Error& error) {
    fail(file, ": ", error.what());
  }
  run.model.module->eval();
  console.say("model", fmt::format("{}: epoch {}, trained on {}", run.model.text, info.epoch, info.dataset));
  const NoGrad no_grad;
  const Tensor logits = run.model.forward().value().to(kCpu);
  const std::vector<std::int64_t> predicted = largest_columns(logits);
  out.write("class", info.multi_label ? above_half(logits) : Tensor::from(predicted));
  out.write("probability", info.multi_label ? sigmoid(logits) : softmax(logits));
  if (known.node_id.defined()) out.write("node_id", known.node_id);
  out.attribute("dataset", name);
  out.attribute("weights", file);
  out.attribute("model", run.model.text);
  out.attribute("epoch", static_cast<std::int64_t>(info.epoch));
  out.attribute("rodeo", fmt::format("{} ({})", RODEO_VERSION, RODEO_COMMIT));
  out.commit();
  if (const std::string found = info.multi_label ? "" : accuracy(predicted, known); !found.empty())
    console.say("accuracy", found);
  console.say("written", options.out);
}

int predict_command(int argc, const char* const* argv) {
  return run_command("rodeo_predict", [&] {
    const PredictOptions options = parse_predict_options(argc, argv);
    if (options.notice.empty())
      predict(options);
    else
      fmt::print("{}", options.notice);
  });
}

}  // namespace rodeo
