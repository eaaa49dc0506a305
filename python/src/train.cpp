/// rodeo._core.train: the training commands' trainer, options and output files, for a dataset in memory.
#include "train.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>

#include "core/context.h"
#include "core/device.h"
#include "core/launch_ranks.h"
#include "core/text.h"
#include "train/commands/command.h"
#include "train/commands/prediction_run.h"
#include "train/commands/train_run.h"
#include "train/io/run_state.h"
#include "train/task/hetero_task.h"
#include "train/task/model_registry.h"
#include "train/task/node_model.h"
#include "train/task/option_table.h"
#include "train/task/relation_split.h"
#include "train/trainer.h"

namespace rodeo::python {
namespace {

using Given = std::vector<std::pair<std::string, std::string>>;

/// The published defaults of the model for the task that is given.
TrainOptions defaults_of(const std::string& model, const Given& given) {
  TaskKind task = TaskKind::kNode;
  for (const auto& [name, text] : given)
    if (name == "task") task = parse_name<TaskKind>("--task", text);
  TrainOptions options = published_options(model, task);
  options.choose_model = true;
  return options;
}

TrainOptions options_of(const std::string& model, const Given& given) {
  TrainOptions options = defaults_of(model, given);
  const std::vector<TrainOption> table = option_table(options);
  const std::string known = join(table, ", ", &TrainOption::name);
  std::vector<GivenOption> all;
  for (const auto& [name, text] : given) {
    const bool of_command =
        is_command_option(name) || std::any_of(table.begin(), table.end(), [&](const auto& row) {
          return row.name == name && row.is(OptionFlag::kCommand);
        });
    check(!of_command, "[train] ", name, " is an option of the command only: python -m rodeo");
    all.push_back({std::string(current_option_name(name)), text, ""});
  }
  for (const GivenOption& option : all)
    check(std::ranges::count(table, option.name, &TrainOption::name) > 0, "[train] ", model,
          " has no option '", option.name, "' for task ", name(options.task), "; it has ", known);
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
  if (report.evaluation) dict.update(to_dict(*report.evaluation));
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
  const Tensor out = run.model.forward().value().to(DType::kF32);
  return in_file_order(run.task, run.task.target_scale.undo(out));
}

/// Calls Python for each epoch, from threads and code that run without the GIL.
class PythonObserver : public RunObserver {
 public:
  explicit PythonObserver(nb::handle callback) : callback_(callback) {}

  void epoch(const EpochReport& report) override {
    nb::gil_scoped_acquire acquire;
    try {
      callback_(to_dict(report));
    } catch (nb::python_error& error) {
      error_.emplace(std::move(error));
      throw Error("[train] the callback raised an exception");  // rethrow() raises it
    }
  }
  /// Ctrl-C ends the run at once. Only Python's main thread sees signals.
  bool stops() override {
    nb::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() == 0) return false;
    error_.emplace();
    throw Error("[train] interrupted");
  }
  /// Raises the error of Python that ended the run, if there is one.
  void rethrow() {
    if (error_) throw std::move(*error_);
  }

 private:
  nb::handle callback_;
  std::optional<nb::python_error> error_;
};

DataSource source_of(const PyDataset& dataset) {
  return {.dataset = dataset.data, .edge_split = dataset.edge_split};
}
DataSource source_of(const HeteroDataset& dataset) {
  return {.hetero = dataset};
}

template <typename Data>
nb::dict train(const Data& dataset, const std::string& model, const Given& given, nb::handle callback) {
  DataSource source = source_of(dataset);
  const TrainOptions options = options_of(model, given);
  PythonObserver observer(callback);
  nb::dict result;
  try {
    nb::gil_scoped_release release;
    const PreserveDevice preserve;
    const RunSettings settings(options);
    Recorder recorder(options, /*writes=*/true, /*keeps_best=*/true);
    const TrainedRun trained =
        train_run(std::move(source), options, parse_device(options.device), {}, recorder, observer);
    Module& module = *trained.run.model.module;
    if (!recorder.best().empty()) module.load_state_dict(recorder.best());
    const StateDict best = module.state_dict();
    const Tensor logits = logits_of(trained.run);
    const TrainSummary& summary = trained.summary;
    const std::string description = recorder.description(summary);

    const nb::gil_scoped_acquire acquire;
    result["model"] = trained.run.model.text;
    result["description"] = description;
    result["epochs"] = summary.epochs;
    result["best_epoch"] = summary.best_epoch;
    result["best"] = to_dict(summary.best);
    result["last"] = to_dict(summary.last);
    result["epoch_ms"] = summary.epoch_ms.median;
    result["peak_bytes"] = summary.peak_bytes;
    result["weights"] = to_dict(best);
    result["logits"] = to_dlpack(logits);
    nb::dict details;  // all test metrics of the best epoch
    for (const auto& [metric, value] : trained.details) details[metric.c_str()] = value;
    result["details"] = details;
  } catch (const Error&) {
    observer.rethrow();
    throw;
  }
  return result;
}

/// The model that `description` names, as a file of weights has it, for a dataset.
struct Loaded {
  Loaded(const std::string& description, const nb::dict& given) {
    for (const auto& [name, value] : given)
      weights.tensors.emplace_back(nb::cast<std::string>(name),
                                   read("predict", nb::cast<std::string>(name), value));
    weights.metadata["rodeo"] = description;
    info = read_info(weights, "[predict] weights");
  }

  NodeRun run(HeteroDataset data, Device device) {
    return ready(
        make_hetero_prediction_run(std::move(data), info.types, info.num_classes, info.options, device));
  }
  NodeRun run(const PyDataset& dataset, Device device) {
    Dataset data = dataset.data;
    prepare_features(data, info, "[predict] the dataset");
    data.num_classes = info.num_classes;
    data.split = {};
    return ready(make_prediction_run(std::move(data), info.options, device));
  }

  SafeTensors weights;
  WeightsInfo info;

 private:
  NodeRun ready(NodeRun run) const {
    run.task.target_scale = info.targets.to(run.task.x.device());
    Module& module = *run.model.module;
    module.load_state_dict(
        fit_weights(module.state_dict(), weights.tensors, "[predict] weights", run.model.text, ""));
    module.eval();
    return run;
  }
};

/// Logits of weights on a dataset.
template <typename Data>
nb::object predict(const Data& dataset, const std::string& description, const nb::dict& weights,
                   const std::string& device) {
  Loaded model(description, weights);
  Tensor logits;
  {
    nb::gil_scoped_release release;
    const PreserveDevice preserve;
    logits = logits_of(model.run(dataset, parse_device(device)));
  }
  return to_dlpack(logits);
}

NodePairs pairs_in(const PyDataset&, const TrainOptions&, const std::string&, NodePairs pairs) {
  return pairs;
}

/// Ids within the types of a predicted relation, by its name; empty: of the only one.
NodePairs pairs_in(const HeteroDataset& dataset, const TrainOptions& options, const std::string& name,
                   const NodePairs& pairs) {
  int number = 0;
  const std::vector<std::size_t> found = find_link_relations(dataset, options);
  for (const std::size_t r : found) {
    const HeteroRelation& relation = dataset.relations[r];
    const std::string full = dataset.relation_name(relation);
    if (name == full || name == relation.name || (name.empty() && found.size() == 1)) {
      const PairRange among = pairs_of_relation(dataset, relation);
      const auto rows = [](const char* what, const Tensor& ids, std::int64_t first, std::int64_t count) {
        std::vector<std::int64_t> out = ids.to_vector<std::int64_t>();
        for (std::int64_t& id : out) {
          check(id >= 0 && id < count, "[score] a ", what, " is ", id, ", outside [0, ", count, ")");
          id += first;
        }
        return Tensor::from(out);
      };
      return {rows("source", pairs.src, among.first_src, among.num_src),
              rows("target", pairs.dst, among.first_dst, among.num_dst),
              Tensor::full(pairs.src.shape(), static_cast<double>(number), DType::kI64)};
    }
    ++number;
  }
  fail("[score] relation must be one of ",
       join(found, ", ", [&](std::size_t r) { return dataset.relation_name(dataset.relations[r]); }),
       name.empty() ? "" : ", got " + name);
}

/// Scores (logits) of pairs of nodes, f32 [pairs]. Messages pass over all edges of the dataset.
template <typename Data>
nb::object predict_links(const Data& dataset, const std::string& description, const nb::dict& weights,
                         const std::string& on, nb::handle sources, nb::handle targets,
                         const std::string& relation) {
  Loaded model(description, weights);
  const Tensor src = read("predict", "sources", sources), dst = read("predict", "targets", targets);
  Tensor score;
  {
    nb::gil_scoped_release release;
    const PreserveDevice preserve;
    check(model.info.options.task == TaskKind::kLink, "[predict] scores of pairs are for task link");
    const NodePairs rows = pairs_in(dataset, model.info.options, relation, {src, dst});
    const NodeRun run = model.run(dataset, parse_device(on));
    const NoGrad no_grad;
    const Device device = run.task.x.device();
    const NodePairs pairs{rows.src.to(device), rows.dst.to(device),
                          rows.relation.defined() ? rows.relation.to(device) : Tensor()};
    score = run.model.predict({.pairs = &pairs}).value().to(kCpu).to(DType::kF32).reshape({src.numel()});
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
  using namespace nb::literals;
  bind_dataset(m);
  bind_hetero(m);
  m.def("train", train<PyDataset>, "dataset"_a, "model"_a, "options"_a, "callback"_a);
  m.def("train", train<HeteroDataset>, "dataset"_a, "model"_a, "options"_a, "callback"_a);
  m.def("predict", predict<PyDataset>, "dataset"_a, "description"_a, "weights"_a, "device"_a);
  m.def("predict", predict<HeteroDataset>, "dataset"_a, "description"_a, "weights"_a, "device"_a);
  m.def("predict_links", predict_links<PyDataset>, "dataset"_a, "description"_a, "weights"_a, "device"_a,
        "sources"_a, "targets"_a, "relation"_a);
  m.def("predict_links", predict_links<HeteroDataset>, "dataset"_a, "description"_a, "weights"_a, "device"_a,
        "sources"_a, "targets"_a, "relation"_a);
  m.def("command", command, "words"_a, "starter"_a);
  m.def("started_as_rank", started_as_rank);
  m.def(
      "check_options", [](const std::string& model, const Given& given) { options_of(model, given); },
      "model"_a, "options"_a);
  m.def("options_table", options_table, "model"_a, "task"_a);
  m.def("model_names", [] { return model_names(); });
  m.def(
      "has_relations", [](const std::string& model) { return find_model(model).relations; }, "model"_a);
}

}  // namespace rodeo::python
