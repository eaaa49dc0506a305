/// epoch_bench: milliseconds of one training epoch (forward, loss, backward, Adam) of each model on each
/// graph, its parts, kernels and memory. scripts/pyg_epoch.py prints the same columns for PyG. Half of the
/// epochs after the warm-up are timed as a whole (on CUDA: replays of a captured CUDA graph), the other half
/// is timed op by op for the parts. The loss is that of the last of them. Exit codes: 0; 2 for a bad option
/// or file.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "bench/arguments.h"
#include "bench/epoch_options.h"
#include "bench/epoch_ranks.h"
#include "bench/epoch_table.h"
#include "bench/gcn_sums.h"
#include "bench/hetero_graph.h"
#include "bench/large_run.h"
#include "bench/limits.h"
#include "bench/output_file.h"
#include "core/cache_folder.h"
#include "core/context.h"
#include "core/threads.h"
#include "core/version.h"
#include "datasets/hetero_dataset.h"
#include "datasets/subset.h"
#include "datasets/synthetic.h"
#include "ops/sparse/exchange_rates.h"
#include "train/commands/run_on_ranks.h"
#include "train/task/hetero_task.h"
#include "train/task/model_registry.h"
#include "train/task/node_model.h"
#include "train/timing.h"
#include "train/trainer.h"

namespace rodeo::bench {
namespace {

Dataset synthetic_graph(const SyntheticOptions& preset, const EpochOptions& options) {
  Dataset data = synthesize(preset, options.device);
  if (options.edge_weights) {
    const Tensor& sources = data.src.defined() ? data.src : data.indices;
    data.edge_weight = Tensor::full({sources.numel()}, 1, DType::kF32, sources.device());
    data.name += "-weighted";
  }
  return data;
}

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
  const bool keeps = o.input_dropout.value_or(o.dropout) == 0;
  const FirstInput first = sparse ? FirstInput::kSparse : keeps ? FirstInput::kKept : FirstInput::kDropped;
  for (const GcnSum& sum : gcn_sums(task.num_features, o.hidden, task.num_classes, o.layers, first)) {
    const std::int64_t width = sum.columns;
    const double gather =
        limits.gather(std::min<std::int64_t>(1024, width * element), task.num_nodes * width * element);
    if (!(gather > 0)) return std::numeric_limits<double>::quiet_NaN();
    seconds += static_cast<double>(edges * width * element) / (gather * 1e12);
  }
  return seconds * 1e3;
}

void take_largest(std::int64_t& value, const Communicator& ranks) {
  const Tensor most = Tensor::from(std::vector{value});
  ranks.all_reduce(most, Reduction::kMax);
  value = most.to_vector<std::int64_t>()[0];
}

EpochRow train_large(const LargeGraph& graph, const TrainOptions& training, const EpochOptions& options,
                     const Communicator& ranks) {
  const NodeRun run = draw_run(graph, training, options.device, ranks);
  const int total = options.warmup + 2 * options.epochs;
  // Kernels take far longer than their launches, and a captured graph would keep memory of its own.
  Trainer trainer = make_trainer(run, {.epochs = total,
                                       .eval_every = total,
                                       .warmup_epochs = options.warmup,
                                       .profile_every = 2,
                                       .cuda_graph = false});
  const auto unknown = std::numeric_limits<double>::quiet_NaN();
  double loss = 0;
  EpochRow row{graph.name,
               training,
               trainer.fit([&](const EpochReport& report) { loss = report.loss; }),
               unknown,
               "dense",
               NodeOrder::kNone,
               0,
               ranks.size(),
               graph.nodes,
               run.task.num_edges,
               graph.features,
               graph.classes};
  row.loss = loss;
  take_largest(row.summary.peak_bytes, ranks);
  return row;
}

void measure_large(const LargeGraph& graph, const EpochOptions& options, const Communicator& ranks,
                   std::vector<EpochRow>& rows) {
  for (const std::string& model : options.models) {
    TrainOptions training = published_options(model);
    training.input_dropout = options.input_dropout;
    if (options.layers > 0) training.layers = options.layers;
    for (const std::int64_t hidden : options.hidden.empty() ? std::vector{training.hidden} : options.hidden)
      for (const Precision precision : options.precisions)
        for (const SpmmAlgorithm spmm : options.spmm) {
          training.hidden = hidden, training.precision = precision, training.spmm = spmm;
          set_allow_tf32(precision == Precision::kTf32);
          rows.push_back(train_large(graph, training, options, ranks));
          print_epoch_row(rows.back());
        }
  }
}

EpochRow time_epochs(const NodeRun& run, const std::string& name, const TrainOptions& training,
                     const EpochOptions& options) {
  const int total = options.warmup + 2 * options.epochs;
  Trainer trainer = make_trainer(run, {.epochs = total,
                                       .eval_every = total,
                                       .warmup_epochs = options.warmup,
                                       .profile_every = 2,
                                       .cuda_graph = options.cuda_graph});
  double loss = 0;
  EpochRow row{name,
               training,
               trainer.fit([&](const EpochReport& report) { loss = report.loss; }),
               std::numeric_limits<double>::quiet_NaN(),
               run.task.x.is_sparse() ? "sparse" : "dense",
               NodeOrder::kNone,
               0,
               1,
               run.task.num_nodes,
               run.task.num_edges,
               run.task.num_features,
               run.task.num_classes};
  row.loss = loss;
  return row;
}

/// Node types and relations, with the reverse of each. Over ranks each gathers the rows of all nodes.
void measure_hetero(const HeteroDataset& data, const EpochOptions& options, const Communicator& ranks,
                    std::vector<EpochRow>& rows) {
  for (const std::string& model : options.models) {
    TrainOptions training = published_options(model);
    check(has_relations(training), "--graph ", data.name, " has several node types: --model must be of ",
          "rgcn, hetero-sage, rgat and hgt, got ", model);
    training.undirected = true;
    if (options.layers > 0) training.layers = options.layers;
    for (const std::int64_t hidden : options.hidden.empty() ? std::vector{training.hidden} : options.hidden)
      for (const Precision precision : options.precisions) {
        training.hidden = hidden, training.precision = precision;
        set_allow_tf32(precision == Precision::kTf32);
        rows.push_back(time_epochs(make_hetero_run(data, training, options.device, ranks), data.name,
                                   training, options));
        EpochRow& row = rows.back();
        row.ranks = ranks.size();
        if (ranks.size() > 1) row.options.aggregation = Aggregation::kRows;
        take_largest(row.summary.peak_bytes, ranks);
        print_epoch_row(row);
      }
  }
}

EpochRow train_epochs(const Ordered& nodes, const TrainOptions& training, const EpochOptions& options,
                      const Limits& limits, const Communicator& ranks) {
  const NodeRun run = make_run(nodes.data, training, options.device, ranks);
  EpochRow row = time_epochs(run, nodes.data.name, training, options);
  row.reorder = nodes.by, row.reorder_ms = nodes.ms, row.ranks = ranks.size();
  take_largest(row.summary.peak_bytes, ranks);
  if (options.roofline && training.model == "gcn")
    row.of_roofline =
        gcn_bound_ms(run.task, training, run.model.adj.num_edges(), limits) / row.summary.epoch_ms.median;
  return row;
}

/// Adds and prints the row of one run. One that fails, for want of memory perhaps, has a line in its place;
/// over ranks all end.
void add_row(const Ordered& nodes, TrainOptions training, const EpochOptions& options, const Limits& limits,
             const Communicator& ranks, std::vector<EpochRow>& rows) {
  if (traits_of(training).attention_form && training.spmm != SpmmAlgorithm::kAuto)
    training.attention = AttentionForm::kComposed;
  if (composes_attention(training)) training.sddmm = options.sddmm;
  set_allow_tf32(training.precision == Precision::kTf32);
  try {
    rows.push_back(train_epochs(nodes, training, options, limits, ranks));
  } catch (const Error& error) {
    if (ranks.size() > 1) throw;
    return fmt::print("{}, {}, {}, spmm {}: {}\n", nodes.data.name, training.model, name(training.precision),
                      name(training.spmm), error.what());
  }
  print_epoch_row(rows.back());
}

void measure_order(const Ordered& nodes, const EpochOptions& options, const Limits& limits,
                   const Communicator& ranks, std::vector<EpochRow>& rows) {
  const std::vector<Aggregation> forms =
      ranks.size() > 1 ? options.aggregation : std::vector{Aggregation::kAuto};  // one rank exchanges nothing
  for (const std::string& model : options.models) {
    TrainOptions training = published_options(model);
    training.attention = options.attention;
    training.input_dropout = options.input_dropout;
    if (options.layers > 0) training.layers = options.layers;
    training.prune_rows = options.prune_rows && model == "gcn";
    for (const std::int64_t heads : traits_of(training).heads ? options.heads : std::vector<std::int64_t>{1})
      for (const std::int64_t hidden : options.hidden.empty() ? std::vector{training.hidden} : options.hidden)
        for (const FeatureForm features : options.features)
          for (const Precision precision : options.precisions)
            for (const Aggregation form : forms)
              for (const SpmmAlgorithm spmm : options.spmm) {
                training.heads = heads, training.hidden = hidden, training.features = features;
                training.precision = precision, training.aggregation = form, training.spmm = spmm;
                add_row(nodes, training, options, limits, ranks, rows);
              }
  }
}

void measure_graph(const Dataset& data, const EpochOptions& options, const Limits& limits,
                   const Communicator& ranks, std::vector<EpochRow>& rows) {
  for (const NodeOrder by : options.reorder)
    measure_order(order_nodes(data, by), options, limits, ranks, rows);
}

void run(EpochOptions options, const Communicator& ranks) {
  check(options.ranks.empty() || options.ranks[0] == ranks.size(), "the launcher started ", ranks.size(),
        " ranks, the options ask for ", options.ranks.empty() ? 1 : options.ranks[0]);
  if (ranks.size() > 1 && options.device.is_cuda()) options.device = ranks.gpu();
  const bool writes = ranks.rank() == 0;
  OutputFile csv(writes ? options.csv : ""), json(writes ? options.json : "");
  fmt::print("epoch_bench, rodeo {} ({}), {}, {}\n", RODEO_VERSION, RODEO_COMMIT, describe(options.device),
             options.cuda_graph && options.device.is_cuda() ? "captured CUDA graphs" : "op by op");
  const AggregationRates rates = measured_rates(ranks, options.device, cache_folder());
  const Limits limits = options.roofline ? measure_limits(options.device) : Limits();
  print_epoch_header();
  std::vector<EpochRow> rows;
  for (const std::string& size : options.graphs) {
    if (const auto large = large_graph(size)) {
      measure_large(*large, options, ranks, rows);
      continue;
    }
    if (is_hetero_graph(size)) {
      measure_hetero(draw_hetero_graph(size), options, ranks, rows);
      continue;
    }
    for (const std::optional<bool> shuffle : options.shuffle)
      measure_graph(synthetic_graph(preset_in_order(size, shuffle), options), options, limits, ranks, rows);
  }
  for (const std::string& path : options.files) {
    if (is_hetero_file(path)) {
      measure_hetero(load_hetero_dataset(path, {.need = Need::kTraining, .split = options.split}), options,
                     ranks, rows);
      continue;
    }
    measure_graph(load_dataset(path, {.need = Need::kTraining, .split = options.split}), options, limits,
                  ranks, rows);
  }
  for (EpochRow& row : rows) row.rates = rates;
  csv.write([&](std::ostream& out) { write_epoch_csv(rows, out); });
  json.write([&](std::ostream& out) { write_epoch_json(rows, out); });
}

}  // namespace
}  // namespace rodeo::bench

int main(int argc, char** argv) {
  rodeo::configure_threads(argv);
  using namespace rodeo;
  int code = 0;
  const int own = run_command_on_ranks("epoch_bench", [&](const Communicator& ranks) {
    const bench::EpochOptions options = bench::parse_epoch_options(argc, argv);
    if (!options.help.empty())
      fmt::print("{}", options.help);
    else if (!options.ranks.empty() && ranks.size() == 1)
      code = bench::run_numbers_of_ranks(options, argc, argv);
    else
      bench::run(options, ranks);
  });
  return own != 0 ? own : code;
}
