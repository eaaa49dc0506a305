#include "train/commands/predict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <tuple>

#include "core/output_path.h"
#include "core/text.h"
#include "core/version.h"
#include "datasets/hdf5_check.h"
#include "ops/loss.h"
#include "ops/pointwise.h"
#include "train/classification.h"
#include "train/commands/console.h"
#include "train/commands/device_text.h"
#include "train/commands/link_prediction.h"
#include "train/commands/prediction_file.h"
#include "train/commands/prediction_run.h"
#include "train/commands/run_command.h"
#include "train/io/run_state.h"
#include "train/regression.h"
#include "train/report/analysis.h"
#include "train/report/class_report.h"
#include "train/task/correct_and_smooth.h"
#include "train/task/counted.h"
#include "train/task/model_registry.h"

namespace rodeo {
namespace {

/// Probabilities of the classes of each row, computed in f64.
Tensor softmax(const Tensor& logits) {
  return exp(log_softmax(logits.to(DType::kF64))).to(DType::kF32);
}

/// 1 where the probability is above 0.5.
Tensor above_half(const Tensor& logits) {
  std::vector<std::uint8_t> out;
  for (const double x : logits.to(DType::kF64).to_vector<double>()) out.push_back(x > 0 ? 1 : 0);
  return Tensor::from(out, logits.shape());
}

/// The nodes that a result is of: the test nodes, else all.
std::vector<std::int64_t> scored_nodes(const Dataset& dataset) {
  if (dataset.split.test.defined() && dataset.split.test.numel() > 0)
    return dataset.split.test.to(DType::kI64).to_vector<std::int64_t>();
  return counted(dataset.num_nodes).to_vector<std::int64_t>();
}

/// "test nodes", "nodes with a label"
std::string scored_text(const Dataset& dataset, const std::string& row) {
  const bool test = dataset.split.test.defined() && dataset.split.test.numel() > 0;
  return test ? str("test ", row, "s") : row + "s with a label";
}

/// Whether the label of an example, or one of its targets, is known.
bool is_known(const Dataset& known, std::int64_t example) {
  if (known.y.rank() == 1) return known.y.data<std::int64_t>()[example] >= 0;
  if (known.y.dtype() == DType::kU8) return true;
  const float* y = known.y.data<float>() + example * known.y.dim(1);
  return std::any_of(y, y + known.y.dim(1), [](float target) { return !std::isnan(target); });
}

/// The metric that the weights were trained by: {"accuracy", "0.8150 on 1000 test nodes"}; empty without
/// labels of their kind.
std::pair<std::string, std::string> score(const Tensor& outputs, const WeightsInfo& info,
                                          const Dataset& known, const std::string& row) {
  const DType expected = info.regression ? DType::kF32 : info.multi_label ? DType::kU8 : DType::kI64;
  if (!known.y.defined() || known.y.dtype() != expected) return {};
  if (known.y.rank() == 2 && known.y.dim(1) != info.num_classes) return {};
  std::vector<std::int64_t> nodes = scored_nodes(known);
  std::erase_if(nodes, [&](std::int64_t i) { return !is_known(known, i); });
  if (nodes.empty()) return {};
  const Tensor set = Tensor::from(nodes);
  const Split sets{set, set, set};
  const NodeMetric metric = info.options.metric;
  const auto value = [&](const Criterion& criterion) {
    return std::pair(criterion.metric_name(),
                     fmt::format("{:.4f} on {} {}", criterion.metrics(outputs).to_vector<double>()[0],
                                 nodes.size(), scored_text(known, row)));
  };
  return info.regression ? value(Regression(known.y, sets, {.metric = metric}))
                         : value(Classification(known.y, sets, info.num_classes, {.metric = metric}));
}

/// The description that Rodeo wrote, or what the command line says.
WeightsInfo info_of(const SafeTensors& weights, const std::string& file, const PredictOptions& options) {
  if (options.model) {
    check(!has_relations(*options.model), "--model ", options.model->model,
          " is not for rodeo_predict: weights of graphs of several node types say which model they are of");
    WeightsInfo given;
    given.options = *options.model;
    return given;
  }
  check(is_described(weights), file,
        ": does not say which model it is of, because Rodeo did not write it: give --model NAME and its "
        "options");
  return read_info(weights, file);
}

/// Logits whose softmax has the shares of `values`.
Tensor logits_of(const Tensor& values) {
  std::vector<float> out = values.to(DType::kF32).to_vector<float>();
  for (float& p : out) p = std::log(std::max(p, 1e-30f));
  return Tensor::from(out, values.shape());
}

/// Scores options.edges with the model of `run`, and writes them.
void predict_edges(const PredictOptions& options, const NodeRun& run, const ScoredRelations& in,
                   const Console& console) {
  const Device device = run.task.x.device();
  const NodePairs pairs = read_node_pairs(options.edges, in);
  const auto rows = [&](const Tensor& nodes, std::int64_t PairRange::*first) {  // of the embeddings
    std::vector<std::int64_t> out = nodes.to_vector<std::int64_t>();
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] += in.relation(pairs.relation.data<std::int64_t>()[i]).among.*first;
    return Tensor::from(out, device);
  };
  const NodePairs on_device{rows(pairs.src, &PairRange::first_src), rows(pairs.dst, &PairRange::first_dst),
                            pairs.relation.to(device)};
  const NoGrad no_grad;
  const Tensor score = run.model.predict({.pairs = &on_device}).value();
  write_link_scores(options.out, pairs, score, in);
  console.say("edges", count_of(pairs.src.numel(), "pair") + " scored");
  console.say("written", options.out);
}

/// Adds what `logits` say to a prediction, writes it, and prints the score.   logits: undefined without
/// classes
void finish(const PredictOptions& options, const WeightsInfo& info, const Dataset& known,
            const Tensor& logits, Prediction& prediction, PredictionFile* out, const Console& console) {
  const bool plain = logits.defined() && !info.regression && !info.multi_label;
  if (logits.defined() && info.regression) prediction.value = logits;
  if (plain) {
    prediction.classes = Tensor::from(largest_columns(logits));
    prediction.probability = softmax(logits);
  } else if (logits.defined() && info.multi_label) {
    prediction.classes = above_half(logits);
    prediction.probability = sigmoid(logits.to(DType::kF64)).to(DType::kF32);
  }
  if (options.logits) prediction.logits = logits;
  prediction.node_id = known.node_id;
  prediction.node_names = known.node_names;
  prediction.class_names = info.class_names;
  prediction.facts.emplace_back("rodeo", fmt::format("{} ({})", RODEO_VERSION, RODEO_COMMIT));
  if (out) out->write(prediction);
  std::string metric, found;
  const NodeMetric by = info.options.metric;
  if (logits.defined()) try {
      std::tie(metric, found) = score(logits, info, known, prediction.row);
    } catch (const Error&) {
      if (by != NodeMetric::kRocAuc && by != NodeMetric::kAp) throw;
      const std::string why = str(name(by), " is not defined: no class has examples in and outside it here");
      check(out, options.dataset, ": ", why, ": give --out FILE, which the predictions are written to");
      console.say("note", why);
    }
  check(out || !found.empty(), options.dataset,
        ": has no labels to compare the predictions with: give --out FILE, which they are written to");
  if (!found.empty()) console.say(metric, found);
  if (options.per_class)
    fmt::print("\n{} by class\n{}\n", scored_text(known, prediction.row),
               format_classes(report_classes(logits, known.y, scored_nodes(known), info.class_names)));
  if (out) console.say("written", options.out);
}

/// --label-propagation: the labels of training nodes over the graph, without a model.
void propagate_labels(const PredictOptions& options, PredictionFile* out, const Console& console) {
  check_hdf5_file(options.dataset);
  Dataset dataset = load_dataset(options.dataset, {.features = false});
  WeightsInfo info;
  info.num_classes = dataset.num_classes;
  info.class_names = dataset.class_names;
  const Dataset known = take_labels(dataset, info);
  const Adjacency adj = label_graph(dataset, known, /*undirected=*/true, options);
  console.say("dataset", fmt::format("{}: {} nodes, {} edges, {} training nodes", dataset.name,
                                     dataset.num_nodes, dataset.num_edges(), known.split.train.numel()));
  Prediction prediction;
  prediction.facts = {{"dataset", dataset.name}, {"model", "label propagation"}};
  finish(options, info, known,
         logits_of(label_propagation(adj, known.y, known.split.train, info.num_classes)), prediction, out,
         console);
}

}  // namespace

void predict(const PredictOptions& options) {
  const Device device = parse_device(options.device);
  const Console console(options.quiet);
  console.say("device", describe_device(options.device, device));
  const bool link = !options.edges.empty();
  check_outputs({{"--out", options.out}},
                {{"--dataset", options.dataset}, {"--weights", options.weights}, {"--edges", options.edges}});
  if (link) check_suffix({"--out", options.out}, {".h5", ".hdf5", ".csv", ".tsv"});
  // Opened early, so that an unknown suffix and an unwritable file fail now.
  const std::unique_ptr<PredictionFile> out =
      link || options.out.empty() ? nullptr : open_prediction(options.out, options.probabilities);
  if (options.weights.empty()) return propagate_labels(options, out.get(), console);
  const std::string file = find_weights(options.weights);
  const SafeTensors weights = read_weights(file);
  check_hdf5_file(options.dataset);
  WeightsInfo info = info_of(weights, file, options);
  const bool graphs = info.options.task == TaskKind::kGraph;
  const bool of_links = info.options.task == TaskKind::kLink;
  check(link == of_links || (of_links && options.embeddings),
        link ? "--edges is for weights of --task link, got " : "--edges FILE is required: pairs to score by ",
        file, link ? str(", of --task ", name(info.options.task)) : ", weights of --task link");
  check(!of_links || link || !has_relations(info.options),
        "--embeddings is for nodes of one type: links of relations have --edges FILE");
  const auto [run, known, smoothing, links] = load_prediction_run(options, info, file, device, console);
  const char* hint = options.model ? "; give --model, --hidden, --classes and so on as in training" : "";
  run.model.module->load_state_dict(
      fit_weights(run.model.module->state_dict(), weights.tensors, file, run.model.text, hint));
  run.model.module->eval();
  if (link) {
    console.say("model", fmt::format("{}: trained on {}", run.model.text, info.dataset));
    return predict_edges(options, run, links, console);
  }
  console.say("model", options.model ? fmt::format("{}, {} {}", run.model.text, info.num_classes,
                                                   info.regression ? "targets" : "classes")
                                     : fmt::format("{}: epoch {}, trained on {}", run.model.text, info.epoch,
                                                   info.dataset));
  const NoGrad no_grad;
  const Tensor outputs = run.model.forward().value().to(kCpu).to(DType::kF32),
               model_logits = info.targets.undo(outputs),
               logits = smoothing.defined() ? logits_of(correct_and_smooth(smoothing, softmax(model_logits),
                                                                           known.y, known.split.train))
                                            : model_logits;
  Prediction prediction;
  if (graphs) prediction.row = "graph";
  check(!options.embeddings || of_links || run.model.embed, "--embeddings: ", run.model.text,
        " has no hidden layer whose outputs are rows of nodes");
  if (options.embeddings)
    prediction.embedding = of_links ? outputs : run.model.embed().value().to(kCpu).to(DType::kF32);
  prediction.facts = {{"dataset", run.task.name}, {"weights", file}, {"model", run.model.text}};
  if (!options.model) prediction.epoch = info.epoch;
  finish(options, info, known, of_links ? Tensor() : logits, prediction, out.get(), console);
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
