/// rodeo._core.train: the training commands' trainer, options and output files, for a dataset in memory.
#include "train.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <optional>

#include "core/context.h"
#include "core/device.h"
#include "core/launch_ranks.h"
#include "core/threads.h"
#include "train/commands/command.h"
#include "train/commands/fit_weights.h"
#include "train/commands/recorder.h"
#include "train/nan_watch.h"
#include "train/task/apply_options.h"
#include "train/task/model_registry.h"
#include "train/task/node_model.h"
#include "train/task/option_table.h"
#include "train/trainer.h"

namespace rodeo::python {
namespace {

using Given = std::vector<std::pair<std::string, std::string>>;

/// The published defaults of the model for the task that is given.
TrainOptions defaults_of(const std::string& model, const Given& given) {
  TaskKind task = TaskKind::kNode;
  for (const auto& [name, text] : given)
    if (name == "task") task = parse_task(text);
  TrainOptions options = published_options(model, task);
  options.choose_model = true;
  return options;
}

TrainOptions options_of(const std::string& model, const Given& given) {
  TrainOptions options = defaults_of(model, given);
  std::vector<GivenOption> all;
  for (const auto& [name, text] : given) {
    for (const char* console :
         {"dataset", "model", "config", "explain", "profile", "per-class", "quiet", "dry-run", "parallel"})
      check(name != console, "[train] ", name, " is an option of the command only: python -m rodeo");
    all.push_back({std::string(current_option_name(name)), text, ""});
  }
  for (const GivenOption& option : all) {
    std::string known;
    for (const TrainOption& row : option_table(options)) {
      if (row.name == option.name) known.clear();
      if (row.name == option.name) break;
      known += str(known.empty() ? "" : ", ", row.name);
    }
    check(known.empty(), "[train] ", model, " has no option '", option.name, "' for task ",
          name(options.task), "; it has ", known);
  }
  apply_options(all, options);
  return options;
}

nb::dict to_dict(const Evaluation& e) {
  nb::dict dict;
  dict["train"] = e.train, dict["val"] = e.val, dict["test"] = e.test, dict["val_loss"] = e.val_loss;
  return dict;
}

nb::dict to_dict(const EpochReport& report) {
  nb::dict dict;
  dict["epoch"] = report.epoch, dict["epochs"] = report.epochs, dict["loss"] = report.loss;
  dict["ms"] = report.ms, dict["lr"] = report.lr;
  if (report.evaluation) dict["train"] = report.evaluation->train;
  if (report.evaluation) dict["val"] = report.evaluation->val;
  if (report.evaluation) dict["test"] = report.evaluation->test;
  if (report.evaluation) dict["val_loss"] = report.evaluation->val_loss;
  dict["best_epoch"] = report.best_epoch;
  return dict;
}

nb::dict to_dict(const StateDict& state) {
  nb::dict dict;
  for (const auto& [name, tensor] : state) dict[name.c_str()] = to_dlpack(tensor);
  return dict;
}

/// Logits of all nodes in the dataset's order, in evaluation mode: f32 [nodes, classes] on the host. Of link
/// prediction the embeddings, of graphs [graphs, classes].
Tensor logits_of(const NodeRun& run) {
  run.model.module->eval();
  const NoGrad no_grad;
  return in_file_order(run.task, run.model.forward().value().to(kCpu)).to(DType::kF32);
}

/// Errors of Python that a callback raises while C++ code runs without the GIL.
struct Interruption {
  std::optional<nb::python_error> error;
  /// Whether Ctrl-C was pressed. Only Python's main thread sees signals.
  bool signalled() {
    nb::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() == 0) return false;
    error.emplace();
    return true;
  }
};

struct Trained {
  TrainSummary summary;
  StateDict best;
  Tensor logits;
  std::string model;
  std::vector<std::pair<std::string, double>> details;  // all test metrics of the best epoch
};

/// Process-wide and thread-local settings of a run; the destructor restores those of before.
class RunSettings {
 public:
  explicit RunSettings(const TrainOptions& options) : tf32_(allow_tf32()), threads_(num_threads()) {
    set_allow_tf32(options.precision == Precision::kTf32);
    if (options.threads > 0) set_num_threads(options.threads);
  }
  ~RunSettings() {
    set_allow_tf32(tf32_);
    set_num_threads(threads_);
  }
  RunSettings(const RunSettings&) = delete;
  RunSettings& operator=(const RunSettings&) = delete;

 private:
  bool tf32_;
  int threads_;
};

Trained fit(const PyDataset& dataset, const TrainOptions& options, nb::handle callback,
            Interruption& interruption) {
  Trained result;
  {
    nb::gil_scoped_release release;
    const PreserveDevice preserve;
    const RunSettings settings(options);
    const Device device = parse_device(options.device);
    check(options.spmm_accumulate == Accumulate::kOrdered || device.is_cuda(),
          "[train] spmm-accumulate atomic is for CUDA, got device ", device);
    check(options.sddmm == SddmmAlgorithm::kAuto || device.is_cuda(), "[train] sddmm ", options.sddmm,
          " is for CUDA, got device ", device);
    Dataset data = dataset.data;
    const bool nodes = options.task == TaskKind::kNode;
    if (nodes && options.split.find('/') != std::string::npos)
      data.split = random_split(data.y, options.split, options.seed);
    else if (nodes && !options.split.empty()) {
      std::size_t index = data.splits.size();
      for (std::size_t i = 0; i < data.splits.size(); ++i)
        if (options.split == std::to_string(i)) index = i;
      check(index < data.splits.size(),
            "[train] split must be shares such as 60/20/20, or one of the dataset's ", data.splits.size(),
            " splits, counted from 0, got ", options.split);
      data.split = data.splits[index];
    }
    Recorder recorder(options);
    const NodeRun run = options.task == TaskKind::kLink
                            ? make_run(std::move(data), dataset.edge_split, options, device)
                            : make_run(std::move(data), options, device);
    NanWatch watch;
    std::optional<KernelTimer> timer;
    if (!options.trace.empty() || !options.report.empty())
      timer.emplace(device, options.trace.empty() ? 1 : 50);
    TrainerOptions training = trainer_options(options);
    training.timer = timer ? &*timer : nullptr;
    training.watch = options.debug ? &watch : nullptr;
    training.stop = [&] { return interruption.error.has_value() || interruption.signalled(); };
    Trainer trainer = make_trainer(run, training);
    recorder.start(run, trainer, describe(device));
    result.summary = trainer.fit([&](const EpochReport& report) {
      recorder.epoch(report);
      if (report.evaluation && report.best_epoch == report.epoch) {
        result.best = run.model.module->state_dict();
        if (run.model.details) result.details = run.model.details();
      }
      nb::gil_scoped_acquire acquire;
      try {
        callback(to_dict(report));
      } catch (nb::python_error& error) {
        interruption.error.emplace(std::move(error));
        throw Error("[train] the callback raised an exception");  // the caller raises it
      }
    });
    if (!interruption.error) {
      recorder.finish(result.summary, timer ? &*timer : nullptr);
      if (result.best.empty()) result.best = run.model.module->state_dict();
      run.model.module->load_state_dict(result.best);
      result.logits = logits_of(run);
      result.model = run.model.text;
    }
  }
  return result;
}

nb::dict train(const PyDataset& dataset, const std::string& model, const Given& given, nb::handle callback) {
  const Dataset& data = dataset.data;
  const TrainOptions options = options_of(model, given);
  const bool graphs = options.task == TaskKind::kGraph;
  check(graphs || data.has_features(), "[train] the dataset has no features");
  check(options.task != TaskKind::kNode || data.y.defined(), "[train] the dataset has no labels of nodes",
        data.graph_label.defined() ? ": it is a set of graphs, for task graph" : "");
  check(!graphs || (data.graph_ptr.defined() && data.graph_label.defined()),
        "[train] task graph needs a set of graphs with labels: Dataset(..., graph_ptr=, y=)");
  Interruption interruption;
  Trained trained;
  try {
    trained = fit(dataset, options, callback, interruption);
  } catch (const Error&) {
    if (!interruption.error) throw;
  }
  if (interruption.error) throw std::move(*interruption.error);
  const TrainSummary& summary = trained.summary;
  nb::dict result;
  result["model"] = trained.model;
  result["epochs"] = summary.epochs;
  result["best_epoch"] = summary.best_epoch;
  result["best"] = to_dict(summary.best);
  result["last"] = to_dict(summary.last);
  result["epoch_ms"] = summary.epoch_ms.median;
  result["peak_bytes"] = summary.peak_bytes;
  result["weights"] = to_dict(trained.best);
  result["logits"] = to_dlpack(trained.logits);
  result["regression"] = options.task != TaskKind::kLink && data.regression();
  result["task"] = std::string(name(options.task));
  nb::dict details;
  for (const auto& [metric, value] : trained.details) details[metric.c_str()] = value;
  result["details"] = details;
  return result;
}

/// A model with these weights, in evaluation mode. Labels and masks of the dataset are not needed.
NodeRun loaded_run(const PyDataset& dataset, const TrainOptions& options, const StateDict& weights,
                   std::int64_t classes) {
  Dataset data = dataset.data;
  check(data.has_features() || data.graph_ptr.defined(), "[predict] the dataset has no features");
  // Placeholders: a NodeTask needs labels and a split, the model does not read them.
  data.num_classes = classes;
  data.y = Tensor::zeros({data.num_nodes}, DType::kI64);
  const Tensor nobody = Tensor::zeros({0}, DType::kI64);
  data.split = {nobody, nobody, nobody};
  NodeRun run = make_prediction_run(std::move(data), options, parse_device(options.device));
  run.model.module->load_state_dict(
      fit_weights(run.model.module->state_dict(), weights, "[predict] weights", run.model.text, ""));
  run.model.module->eval();
  return run;
}

StateDict state_of(const nb::dict& weights) {
  StateDict state;
  for (const auto& [name, value] : weights)
    state.emplace_back(nb::cast<std::string>(name), read("predict", nb::cast<std::string>(name), value));
  return state;
}

/// Logits of weights on a dataset.
nb::object predict(const PyDataset& dataset, const std::string& model, const Given& given,
                   const nb::dict& weights, std::int64_t classes) {
  const TrainOptions options = options_of(model, given);
  const StateDict state = state_of(weights);
  Tensor logits;
  {
    nb::gil_scoped_release release;
    const PreserveDevice preserve;
    logits = logits_of(loaded_run(dataset, options, state, classes));
  }
  return to_dlpack(logits);
}

/// Scores (logits) of pairs of nodes, f32 [pairs]. Messages pass over all edges of the dataset.
nb::object predict_links(const PyDataset& dataset, const std::string& model, const Given& given,
                         const nb::dict& weights, nb::handle sources, nb::handle targets) {
  const TrainOptions options = options_of(model, given);
  const StateDict state = state_of(weights);
  const Tensor src = read("predict", "sources", sources), dst = read("predict", "targets", targets);
  Tensor score;
  {
    nb::gil_scoped_release release;
    const PreserveDevice preserve;
    const NodeRun run = loaded_run(dataset, options, state, 1);
    check(run.model.score != nullptr, "[predict] scores of pairs are for task link");
    const NoGrad no_grad;
    const Device device = run.task.x.device();
    score = run.model.score(src.to(device), dst.to(device)).value().to(kCpu).to(DType::kF32);
    score = score.reshape({src.numel()});
  }
  return to_dlpack(score);
}

/// The command rodeo_train. `starter`: what starts a rank, before the options. The caller ends the process.
int command(const std::vector<std::string>& words, const std::vector<std::string>& starter) {
  std::vector<const char*> argv;
  for (const std::string& word : words) argv.push_back(word.c_str());
  argv.push_back(nullptr);
  nb::gil_scoped_release release;
  TrainOptions defaults;
  defaults.choose_model = true;
  return train_command(static_cast<int>(words.size()), argv.data(), defaults, starter);
}

nb::list options_table(const std::string& model, const std::string& task) {
  const TrainOptions defaults = defaults_of(model, {{"task", task}});
  nb::list rows;
  for (const TrainOption& row : option_table(defaults))
    rows.append(nb::make_tuple(std::string(row.name), row.help, row.default_text, row.is_flag()));
  return rows;
}

}  // namespace

void bind_train(nb::module_& m) {
  bind_dataset(m);
  m.def("train", train, nb::arg("dataset"), nb::arg("model"), nb::arg("options"), nb::arg("callback"));
  m.def("predict", predict, nb::arg("dataset"), nb::arg("model"), nb::arg("options"), nb::arg("weights"),
        nb::arg("classes"));
  m.def("predict_links", predict_links, nb::arg("dataset"), nb::arg("model"), nb::arg("options"),
        nb::arg("weights"), nb::arg("sources"), nb::arg("targets"));
  m.def("command", command, nb::arg("words"), nb::arg("starter"));
  m.def("started_as_rank", started_as_rank);
  m.def(
      "check_options", [](const std::string& model, const Given& given) { options_of(model, given); },
      nb::arg("model"), nb::arg("options"));
  m.def("options_table", options_table, nb::arg("model"), nb::arg("task"));
  m.def("model_names", [] { return model_names(); });
}

}  // namespace rodeo::python
