/// epoch_bench: milliseconds of one training epoch (forward, loss, backward, Adam) of each model on each
/// graph, its parts, kernels and memory. scripts/pyg_epoch.py prints the same columns for PyG. Half of the
/// epochs after the warm-up are timed as a whole (on CUDA: replays of a captured CUDA graph), the other half
/// is timed op by op for the parts. Exit codes: 0; 2 for a bad option or file.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <limits>

#include "core/context.h"
#include "core/threads.h"
#include "core/version.h"
#include "datasets/subset.h"
#include "datasets/synthetic.h"
#include "tests/bench/arguments.h"
#include "tests/bench/epoch_options.h"
#include "tests/bench/epoch_table.h"
#include "tests/bench/limits.h"
#include "train/commands/run_command.h"
#include "train/task/model_registry.h"
#include "train/task/node_model.h"
#include "train/timing.h"
#include "train/trainer.h"

namespace rodeo::bench {
namespace {

/// A dataset whose nodes are renumbered, made once for all runs on it.
struct Ordered {
  Dataset data;
  NodeOrder by;
  double ms = 0;  // time to find and apply the order
};

Ordered order_nodes(const Dataset& data, NodeOrder by) {
  Ordered out{data, by};
  if (by != NodeOrder::kNone)
    out.ms = timed(kCpu, [&] { out.data = select_nodes(data, node_order(data, by)); });
  return out;
}

// Opened before the first run, so that a path that cannot be written fails at once.
class OutputFile {
 public:
  explicit OutputFile(const std::string& path) : path_(path) {
    if (path.empty()) return;
    file_.open(path);
    check(file_.is_open(), path, ": cannot be written");
  }
  void write(const std::vector<EpochRow>& rows, void (*format)(const std::vector<EpochRow>&, std::ostream&)) {
    if (path_.empty()) return;
    format(rows, file_);
    file_.flush();
    check(file_.good(), path_, ": writing failed");
  }

 private:
  std::string path_;
  std::ofstream file_;
};

// Lower bound in milliseconds of one GCN epoch, from the measured bandwidth. X is read once in the forward
// and once in the backward pass; a sparse X has a 4-byte column index for each value. Every aggregation
// gathers one row for each edge, in both passes; the gradient of X itself is not computed. Without input
// dropout, a dense X is aggregated once before training. NaN if the limits are not known.
double gcn_bound_ms(const NodeTask& task, const TrainOptions& o, std::int64_t edges, const Limits& limits) {
  const bool sparse = task.x.is_sparse();
  const auto element = static_cast<std::int64_t>(size_of(task.x.dtype()));
  const std::int64_t bytes =
      sparse ? task.x.values().numel() * (4 + element) : task.num_nodes * task.num_features * element;
  double seconds = 2. * static_cast<double>(bytes) / (limits.copy * 1e12);
  for (int i = 0; i < o.layers; ++i) {
    const std::int64_t in = i == 0 ? task.num_features : o.hidden,
                       out = i + 1 == o.layers ? task.num_classes : o.hidden, width = std::min(in, out);
    const double gather =
        limits.gather(std::min<std::int64_t>(1024, width * element), task.num_nodes * width * element);
    if (!(gather > 0)) return std::numeric_limits<double>::quiet_NaN();
    const bool propagated_once = !sparse && o.input_dropout.value_or(o.dropout) == 0;
    const int passes = i > 0 || sparse ? 2 : propagated_once ? 0 : in < out ? 1 : 2;
    seconds += passes * static_cast<double>(edges * width * element) / (gather * 1e12);
  }
  return seconds * 1e3;
}

EpochRow train_epochs(const Ordered& nodes, const TrainOptions& training, const EpochOptions& options,
                      const Limits& limits) {
  const NodeRun run = make_run(nodes.data, training, options.device);
  const int total = options.warmup + 2 * options.epochs;
  Trainer trainer(*run.model.module, run.model.forward, run.model.groups, run.task.label, run.task.split,
                  {.epochs = total,
                   .eval_every = total,
                   .warmup_epochs = options.warmup,
                   .profile_every = 2,
                   .cuda_graph = options.cuda_graph,
                   .training_rows = run.model.training_rows});
  EpochRow row{nodes.data.name,
               training,
               trainer.fit(),
               std::numeric_limits<double>::quiet_NaN(),
               run.task.x.is_sparse() ? "sparse" : "dense",
               nodes.by,
               nodes.ms};
  if (options.roofline && training.model == "gcn")
    row.of_roofline =
        gcn_bound_ms(run.task, training, run.model.adj.num_edges(), limits) / row.summary.epoch_ms.median;
  return row;
}

void measure_order(const Ordered& nodes, const EpochOptions& options, const Limits& limits,
                   std::vector<EpochRow>& rows) {
  for (const std::string& model : options.models) {
    TrainOptions training = published_options(model);
    training.attention = options.attention;
    training.input_dropout = options.input_dropout;
    training.prune_rows = options.prune_rows && model == "gcn";
    const bool gat = model == "gat";
    for (const std::int64_t heads : gat ? options.heads : std::vector<std::int64_t>{1})
      for (const std::int64_t hidden :
           options.hidden.empty() ? std::vector<std::int64_t>{training.hidden} : options.hidden) {
        training.heads = heads;
        training.hidden = hidden;
        for (const FeatureForm features : options.features) {
          training.features = features;
          for (const Precision precision : options.precisions) {
            training.precision = precision;
            set_allow_tf32(precision == Precision::kTf32);
            rows.push_back(train_epochs(nodes, training, options, limits));
            print_epoch_row(rows.back());
          }
        }
      }
  }
}

void measure_graph(const Dataset& data, const EpochOptions& options, const Limits& limits,
                   std::vector<EpochRow>& rows) {
  for (const NodeOrder by : options.reorder) measure_order(order_nodes(data, by), options, limits, rows);
}

void run(const EpochOptions& options) {
  OutputFile csv(options.csv), json(options.json);
  fmt::print("epoch_bench, rodeo {} ({}), {}, {}\n", RODEO_VERSION, RODEO_COMMIT, describe(options.device),
             options.cuda_graph && options.device.is_cuda() ? "captured CUDA graphs" : "op by op");
  const Limits limits = options.roofline ? measure_limits(options.device) : Limits();
  print_epoch_header();
  std::vector<EpochRow> rows;
  for (const std::string& size : options.graphs)
    for (const std::optional<bool> shuffle : options.shuffle)
      measure_graph(synthesize(preset_in_order(size, shuffle), options.device), options, limits, rows);
  for (const std::string& path : options.files)
    measure_graph(load_dataset(path, {.need = Need::kTraining, .split = options.split}), options, limits,
                  rows);
  csv.write(rows, write_epoch_csv);
  json.write(rows, write_epoch_json);
}

}  // namespace
}  // namespace rodeo::bench

int main(int argc, char** argv) {
  rodeo::configure_threads(argv);
  return rodeo::run_command("epoch_bench", [&] {
    const rodeo::bench::EpochOptions options = rodeo::bench::parse_epoch_options(argc, argv);
    if (options.help.empty())
      rodeo::bench::run(options);
    else
      fmt::print("{}", options.help);
  });
}
