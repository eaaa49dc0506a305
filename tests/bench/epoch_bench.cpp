/// epoch_bench: milliseconds of one training epoch (forward, loss, backward, Adam) of each model on each
/// graph, its parts, kernels and memory; scripts/pyg_epoch.py prints the same columns for PyG. Half of the
/// epochs after the warm-up are timed as they are (on CUDA: replays of a captured graph), the others for
/// their parts (op by op). Exit codes: 0; 2 for an option or a file that is not right.
#include <fmt/format.h>

#include <charconv>
#include <fstream>
#include <limits>

#include "core/context.h"
#include "core/storage.h"
#include "core/version.h"
#include "datasets/subset.h"
#include "datasets/synthetic.h"
#include "tests/bench/arguments.h"
#include "tests/bench/limits.h"
#include "train/task/node_model.h"
#include "train/timing.h"
#include "train/trainer.h"

namespace rodeo::bench {
namespace {

struct EpochOptions {
  std::vector<ModelKind> models;
  std::vector<std::string> graphs, files;
  std::vector<std::int64_t> hidden, heads;  // hidden is empty: the model's own
  std::vector<FeatureForm> features;
  std::vector<Precision> precisions;
  std::vector<NodeOrder> reorder;
  std::vector<bool> shuffle;  // synthetic graphs
  std::optional<double> input_dropout;
  std::string split;
  AttentionForm attention = AttentionForm::kAuto;
  int epochs = 0, warmup = 0;
  Device device;
  bool graph = true, roofline = false, prune_rows = false;
  std::string csv, json;
  std::string notice;  // not empty after --help: print this, and do nothing else
};

cxxopts::Options describe_options() {
  const auto texts = [](const char* initial) { return cxxopts::value<Texts>()->default_value(initial); };
  const auto text = [](const char* initial) { return cxxopts::value<std::string>()->default_value(initial); };
  cxxopts::Options options("epoch_bench", "Times training epochs. Lists are separated by commas.\n");
  options.set_width(110).custom_help("[options]").allow_unrecognised_options();
  auto add = options.add_options();
  add("model", "gcn, gat", texts("gcn,gat"), "LIST");
  add("graph",
      "Synthetic graphs of a named size: cora, pubmed, arxiv, reddit, products (default: cora, where "
      "no file is given)",
      cxxopts::value<Texts>(), "LIST");
  add("node-order",
      "Of synthetic graphs: shuffled, or community (named -sorted), where communities are contiguous",
      texts("shuffled"), "LIST");
  add("dataset", "HDF5 files, as for train_gcn", cxxopts::value<Texts>(), "FILES");
  add("split", "Random split in percent instead of the files' masks, e.g. 60/20/20",
      cxxopts::value<std::string>(), "A/B/C");
  add("hidden", "Hidden width, of a GAT that of one head (default: 16 for GCN, 8 for GAT)",
      cxxopts::value<Texts>(), "LIST");
  add("heads", "Heads of a GAT's hidden layers", texts("8"), "LIST");
  add("features", "auto, dense or sparse: what the first layer reads", texts("auto"), "LIST");
  add("precision", "fp32, tf32 or bf16", texts("fp32"), "LIST");
  add("reorder", "none, degree, rcm or rabbit: the order in which the nodes are trained", texts("none"),
      "LIST");
  add("input-dropout", "Of the features (default: the model's own); with 0 a GCN propagates dense ones once",
      cxxopts::value<std::string>(), "P");
  add("attention", "auto, fused or composed", text("auto"), "NAME");
  add("epochs", "Timed epochs, of which the median counts", text("30"), "N");
  add("warmup", "Epochs before them", text("5"), "N");
  add("device", "auto, cpu, cuda or cuda:i", text("auto"), "NAME");
  add("no-graph", "On CUDA, launch every kernel by itself instead of replaying a captured graph");
  add("prune-rows", "The last layer of a GCN computes the training nodes alone");
  add("roofline",
      "Also measure what the device can do, and print which share of that the epochs of a GCN reach");
  add("json", "Also write the results to a JSON file", cxxopts::value<std::string>(), "FILE");
  add("csv", "Also write the table to a CSV file", cxxopts::value<std::string>(), "FILE");
  add("h,help", "Print this help");
  return options;
}

EpochOptions parse_options(int argc, const char* const* argv) {
  cxxopts::Options description = describe_options();
  const cxxopts::ParseResult parsed = parse_arguments(
      description, "--no-graph, --prune-rows, --roofline and --help take no value", argc, argv);
  EpochOptions options;
  if (parsed.count("help") > 0) {
    options.notice = description.help();
    return options;
  }
  reject_strays(parsed);
  for (const std::string& model : list(parsed, "model")) {
    check(model == "gcn" || model == "gat", "--model must be of gcn, gat, got '", model, "'");
    options.models.push_back(model == "gat" ? ModelKind::kGat : ModelKind::kGcn);
  }
  options.graphs = preset_list(parsed);
  options.files = file_list(parsed, "dataset");
  if (options.graphs.empty() && options.files.empty()) options.graphs = {"cora"};
  for (const std::string& n : list(parsed, "hidden")) options.hidden.push_back(positive("hidden", n));
  for (const std::string& n : list(parsed, "heads")) options.heads.push_back(positive("heads", n));
  for (const std::string& form : list(parsed, "features"))
    options.features.push_back(parse_feature_form(form));
  for (const std::string& given : list(parsed, "precision"))
    options.precisions.push_back(parse_precision(given));
  for (const std::string& order : list(parsed, "reorder")) options.reorder.push_back(parse_node_order(order));
  for (const std::string& order : list(parsed, "node-order")) options.shuffle.push_back(parse_shuffle(order));
  if (const std::string given = one(parsed, "input-dropout"); !given.empty()) {
    double p = -1;
    const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), p);
    check(error == std::errc{} && end == given.data() + given.size() && p >= 0 && p < 1,
          "--input-dropout must be a number in [0, 1), got '", given, "'");
    options.input_dropout = p;
  }
  options.split = one(parsed, "split");
  options.attention = parse_attention_form(one(parsed, "attention"));
  options.epochs = static_cast<int>(positive("epochs", one(parsed, "epochs")));
  options.warmup = static_cast<int>(positive("warmup", one(parsed, "warmup")));
  options.device = parse_device(one(parsed, "device"));
  options.graph = parsed.count("no-graph") == 0;
  options.prune_rows = parsed.count("prune-rows") > 0;
  options.roofline = parsed.count("roofline") > 0;
  options.csv = one(parsed, "csv");
  options.json = one(parsed, "json");
  return options;
}

/// A dataset in an order, found once for all that is trained on it.
struct Ordered {
  Dataset data;
  NodeOrder by;
  double ms = 0;
};

Ordered order_nodes(const Dataset& data, NodeOrder by) {
  Ordered out{data, by};
  if (by != NodeOrder::kNone)
    out.ms = timed(kCpu, [&] { out.data = select_nodes(data, node_order(data, by)); });
  return out;
}

struct Row {
  std::string graph;
  TrainOptions options;
  TrainSummary summary;
  double of_roofline;  // NaN: not known
  std::string features;
  NodeOrder reorder;
  double reorder_ms;
};

// The columns of the table, in the order of scripts/pyg_epoch.py: a name for programs, and a text for each
// row.
struct Column {
  const char* name;
  std::string (*text)(const Row&);
};
constexpr Column kColumns[] = {
    {"graph", [](const Row& r) { return r.graph; }},
    {"model", [](const Row& r) { return std::string(name(r.options.model)); }},
    {"hidden", [](const Row& r) { return str(r.options.hidden); }},
    {"heads", [](const Row& r) { return str(r.options.model == ModelKind::kGat ? r.options.heads : 1); }},
    {"epoch_ms", [](const Row& r) { return fmt::format("{:.4f}", r.summary.epoch_ms.median); }},
    {"sparse_ms", [](const Row& r) { return fmt::format("{:.4f}", r.summary.parts.sparse.median); }},
    {"gemm_ms", [](const Row& r) { return fmt::format("{:.4f}", r.summary.parts.gemm.median); }},
    {"other_ms", [](const Row& r) { return fmt::format("{:.4f}", r.summary.parts.other.median); }},
    {"peak_bytes", [](const Row& r) { return str(r.summary.peak_bytes); }},
    {"kernels", [](const Row& r) { return r.summary.kernels > 0 ? str(r.summary.kernels) : ""; }},
    {"of_roofline",
     [](const Row& r) { return r.of_roofline >= 0 ? fmt::format("{:.3f}", r.of_roofline) : ""; }},
    {"features", [](const Row& r) { return r.features; }},
    {"reorder", [](const Row& r) { return std::string(name(r.reorder)); }},
    {"reorder_ms", [](const Row& r) { return fmt::format("{:.1f}", r.reorder_ms); }},
    {"precision", [](const Row& r) { return std::string(name(r.options.precision)); }}};

void write_csv(const std::vector<Row>& rows, std::ostream& out) {
  const char* comma = "";
  for (const Column& column : kColumns) out << comma << column.name, comma = ",";
  for (const Row& row : rows) {
    comma = "\n";
    for (const Column& column : kColumns) out << comma << column.text(row), comma = ",";
  }
  out << '\n';
}

void write_json(const std::vector<Row>& rows, std::ostream& out) {
  const char* line = "[\n";
  for (const Row& row : rows) {
    out << line << "  {";
    const char* comma = "";
    for (const Column& column : kColumns) {
      const std::string text = column.text(row), name = column.name;
      const bool quoted = name == "graph" || name == "model" || name == "features" || name == "reorder" ||
                          name == "precision";
      out << comma << '"' << name << "\": ";
      if (quoted)
        out << '"' << text << '"';
      else
        out << (text.empty() || text == "nan" ? "null" : text);
      comma = ", ";
    }
    out << '}';
    line = ",\n";
  }
  out << "\n]\n";
}

void print_header() {
  fmt::print(
      "{:<20} {:<5} {:>6} {:>5} {:>11} {:>11} {:>10} {:>10} {:>10} {:>8} {:>12} {:>8} {:>8} {:>11} {:>9}\n",
      "graph", "model", "hidden", "heads", "epoch, ms", "sparse, ms", "GEMM, ms", "other, ms", "peak, GiB",
      "kernels", "of roofline", "features", "reorder", "reorder, ms", "precision");
}

void print_row(const Row& r) {
  const auto& [sparse, gemm, other] = r.summary.parts;
  const auto text = [&](std::size_t column) {
    const std::string given = kColumns[column].text(r);
    return given.empty() ? std::string("-") : given;
  };
  fmt::print(
      "{:<20} {:<5} {:>6} {:>5} {:>11.3f} {:>11.3f} {:>10.3f} {:>10.3f} {:>10.3f} {:>8} {:>12} {:>8} {:>8} "
      "{:>11.1f} {:>9}\n",
      r.graph, name(r.options.model), r.options.hidden, text(3), r.summary.epoch_ms.median, sparse.median,
      gemm.median, other.median, static_cast<double>(r.summary.peak_bytes) / (1 << 30), text(9), text(10),
      r.features, name(r.reorder), r.reorder_ms, name(r.options.precision));
  std::fflush(stdout);
}

// Opened before anything is timed: a path that cannot be written to fails at once.
class OutputFile {
 public:
  explicit OutputFile(const std::string& path) : path_(path) {
    if (path.empty()) return;
    file_.open(path);
    check(file_.is_open(), path, ": cannot be written");
  }
  void write(const std::vector<Row>& rows, void (*format)(const std::vector<Row>&, std::ostream&)) {
    if (path_.empty()) return;
    format(rows, file_);
    file_.flush();
    check(file_.good(), path_, ": writing failed");
  }

 private:
  std::string path_;
  std::ofstream file_;
};

// Milliseconds that a GCN's epoch takes at least on this device: X is read once forward and once
// backward, and every aggregation gathers a row for each edge, forward and, but for what would be the
// gradient of X, backward. Of sparse X each entry has 4 bytes of place. Of dense X without dropout the first
// aggregation was done before. NaN where the limits are not known.
double gcn_floor_ms(const NodeTask& task, const TrainOptions& o, std::int64_t edges, const Limits& limits) {
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
    const bool kept = !sparse && o.input_dropout.value_or(o.dropout) == 0;
    const int passes = i > 0 || sparse ? 2 : kept ? 0 : in < out ? 1 : 2;
    seconds += passes * static_cast<double>(edges * width * element) / (gather * 1e12);
  }
  return seconds * 1e3;
}

Row train_epochs(const Ordered& nodes, const TrainOptions& training, const EpochOptions& options,
                 const Limits& limits) {
  const NodeRun run = make_run(nodes.data, training, options.device);
  const int total = options.warmup + 2 * options.epochs;
  Trainer trainer(*run.model.module, run.model.forward, run.model.groups, run.task.label, run.task.split,
                  {.epochs = total,
                   .eval_every = total,
                   .warmup_epochs = options.warmup,
                   .profile_every = 2,
                   .graph = options.graph,
                   .training_rows = run.model.training_rows});
  Row row{nodes.data.name,
          training,
          trainer.fit(),
          std::numeric_limits<double>::quiet_NaN(),
          run.task.x.is_sparse() ? "sparse" : "dense",
          nodes.by,
          nodes.ms};
  if (options.roofline && training.model == ModelKind::kGcn)
    row.of_roofline =
        gcn_floor_ms(run.task, training, run.model.adj.num_edges(), limits) / row.summary.epoch_ms.median;
  return row;
}

void measure_order(const Ordered& nodes, const EpochOptions& options, const Limits& limits,
                   std::vector<Row>& rows) {
  for (const ModelKind model : options.models) {
    TrainOptions training = published_options(model);
    training.attention = options.attention;
    training.input_dropout = options.input_dropout;
    training.prune_rows = options.prune_rows && model == ModelKind::kGcn;
    const bool gat = model == ModelKind::kGat;
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
            print_row(rows.back());
          }
        }
      }
  }
}

void measure_graph(const Dataset& data, const EpochOptions& options, const Limits& limits,
                   std::vector<Row>& rows) {
  for (const NodeOrder by : options.reorder) measure_order(order_nodes(data, by), options, limits, rows);
}

void run(const EpochOptions& options) {
  OutputFile csv(options.csv), json(options.json);
  fmt::print("epoch_bench, rodeo {} ({}), {}, {}\n", RODEO_VERSION, RODEO_COMMIT, describe(options.device),
             options.graph && options.device.is_cuda() ? "captured graphs" : "op by op");
  const Limits limits = options.roofline ? measure_limits(options.device) : Limits();
  print_header();
  std::vector<Row> rows;
  for (const std::string& size : options.graphs)
    for (const bool shuffle : options.shuffle)
      measure_graph(synthesize(preset_in_order(size, shuffle)), options, limits, rows);
  for (const std::string& path : options.files)
    measure_graph(load_dataset(path, {.need = Need::kTraining, .split = options.split}), options, limits,
                  rows);
  csv.write(rows, write_csv);
  json.write(rows, write_json);
}

}  // namespace
}  // namespace rodeo::bench

int main(int argc, char** argv) {
  return rodeo::run_command("epoch_bench", [&] {
    const rodeo::bench::EpochOptions options = rodeo::bench::parse_options(argc, argv);
    if (options.notice.empty())
      rodeo::bench::run(options);
    else
      fmt::print("{}", options.notice);
  });
}
