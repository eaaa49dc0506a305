/// epoch_bench: milliseconds of one training epoch (forward, loss, backward, Adam) of each model on each
/// graph, its parts and its memory; scripts/pyg_epoch.py prints the same columns for PyG. Half of the epochs
/// after the warm-up are timed as they are, the others for their parts. Exit codes: 0; 2 for an option or a
/// file that is not right.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <fstream>

#include "core/storage.h"
#include "core/version.h"
#include "datasets/synthetic.h"
#include "tests/bench/arguments.h"
#include "train/node_model.h"
#include "train/trainer.h"

namespace rodeo::bench {
namespace {

struct EpochOptions {
  std::vector<ModelKind> models;
  std::vector<std::string> graphs, files;
  std::vector<std::int64_t> hidden, heads;  // hidden is empty: the model's own
  std::string split;
  AttentionForm attention = AttentionForm::kAuto;
  int epochs = 0, warmup = 0;
  Device device;
  std::string csv;
  std::string notice;  // not empty after --help: print this, and do nothing else
};

cxxopts::Options describe_options() {
  const auto texts = [](const char* initial) { return cxxopts::value<Texts>()->default_value(initial); };
  const auto text = [](const char* initial) { return cxxopts::value<std::string>()->default_value(initial); };
  cxxopts::Options options("epoch_bench", "Times training epochs in f32. Lists are separated by commas.\n");
  options.set_width(110).custom_help("[options]").allow_unrecognised_options();
  auto add = options.add_options();
  add("model", "gcn, gat", texts("gcn,gat"), "LIST");
  add("graph",
      "Synthetic graphs of a named size: cora, pubmed, arxiv, reddit, products (default: cora, where "
      "no file is given)",
      cxxopts::value<Texts>(), "LIST");
  add("dataset", "HDF5 files, as for train_gcn", cxxopts::value<Texts>(), "FILES");
  add("split", "Random split in percent instead of the files' masks, e.g. 60/20/20",
      cxxopts::value<std::string>(), "A/B/C");
  add("hidden", "Hidden width, of a GAT that of one head (default: 16 for GCN, 8 for GAT)",
      cxxopts::value<Texts>(), "LIST");
  add("heads", "Heads of a GAT's hidden layers", texts("8"), "LIST");
  add("attention", "auto, fused or composed", text("auto"), "NAME");
  add("epochs", "Timed epochs, of which the median counts", text("30"), "N");
  add("warmup", "Epochs before them", text("5"), "N");
  add("device", "auto, cpu, cuda or cuda:i", text("auto"), "NAME");
  add("csv", "Also write the table to a CSV file", cxxopts::value<std::string>(), "FILE");
  add("h,help", "Print this help");
  return options;
}

EpochOptions parse_options(int argc, const char* const* argv) {
  cxxopts::Options description = describe_options();
  const cxxopts::ParseResult parsed = parse_arguments(description, "--help takes no value", argc, argv);
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
  options.split = one(parsed, "split");
  options.attention = parse_attention_form(one(parsed, "attention"));
  options.epochs = static_cast<int>(positive("epochs", one(parsed, "epochs")));
  options.warmup = static_cast<int>(positive("warmup", one(parsed, "warmup")));
  options.device = parse_device(one(parsed, "device"));
  options.csv = one(parsed, "csv");
  return options;
}

// Prints to stdout and, where there is one, to the CSV file.
class Table {
 public:
  explicit Table(const std::string& csv) : path_(csv) {
    if (!csv.empty()) {
      csv_.open(csv);
      check(csv_.is_open(), csv, ": cannot be written");
    }
    fmt::print("{:<20} {:<5} {:>6} {:>5} {:>11} {:>11} {:>10} {:>10} {:>10}\n", "graph", "model", "hidden",
               "heads", "epoch, ms", "sparse, ms", "GEMM, ms", "other, ms", "peak, GiB");
    csv_ << "graph,model,hidden,heads,epoch_ms,sparse_ms,gemm_ms,other_ms,peak_bytes\n";
  }
  void add(const std::string& graph, const TrainOptions& o, const TrainSummary& s) {
    const std::int64_t heads = o.model == ModelKind::kGat ? o.heads : 1;
    const auto& [sparse, gemm, other] = s.parts;
    fmt::print("{:<20} {:<5} {:>6} {:>5} {:>11.3f} {:>11.3f} {:>10.3f} {:>10.3f} {:>10.3f}\n", graph,
               name(o.model), o.hidden, heads, s.epoch_ms.median, sparse.median, gemm.median, other.median,
               static_cast<double>(s.peak_bytes) / (1 << 30));
    std::fflush(stdout);
    fmt::print(csv_, "{},{},{},{},{:.4f},{:.4f},{:.4f},{:.4f},{}\n", graph, name(o.model), o.hidden, heads,
               s.epoch_ms.median, sparse.median, gemm.median, other.median, s.peak_bytes);
  }
  void finish() {
    csv_.flush();
    check(path_.empty() || csv_.good(), path_, ": writing failed");
  }

 private:
  std::string path_;
  std::ofstream csv_;
};

TrainSummary train_epochs(const Dataset& data, const TrainOptions& training, const EpochOptions& options) {
  const NodeRun run = make_run(data, training, options.device);
  const int total = options.warmup + 2 * options.epochs;
  Trainer trainer(
      *run.model.module, run.model.forward, run.model.groups, run.task.label, run.task.split,
      {.epochs = total, .eval_every = total, .warmup_epochs = options.warmup, .profile_every = 2});
  return trainer.fit();
}

void measure_graph(const Dataset& data, const EpochOptions& options, Table& table) {
  for (const ModelKind model : options.models) {
    TrainOptions training = published_options(model);
    training.attention = options.attention;
    const bool gat = model == ModelKind::kGat;
    for (const std::int64_t heads : gat ? options.heads : std::vector<std::int64_t>{1})
      for (const std::int64_t hidden :
           options.hidden.empty() ? std::vector<std::int64_t>{training.hidden} : options.hidden) {
        training.heads = heads;
        training.hidden = hidden;
        table.add(data.name, training, train_epochs(data, training, options));
      }
  }
}

void run(const EpochOptions& options) {
  fmt::print("epoch_bench, rodeo {} ({}), {}\n", RODEO_VERSION, RODEO_COMMIT, describe(options.device));
  Table table(options.csv);
  for (const std::string& size : options.graphs)
    measure_graph(synthesize(synthetic_preset(size)), options, table);
  for (const std::string& path : options.files)
    measure_graph(load_dataset(path, {.need = Need::kTraining, .split = options.split}), options, table);
  table.finish();
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
