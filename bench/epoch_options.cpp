#include "bench/epoch_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "bench/arguments.h"
#include "datasets/synthetic_hetero.h"
#include "ops/spmm_variant.h"
#include "train/task/model_registry.h"

namespace rodeo::bench {
namespace {

cxxopts::Options describe_epoch_options() {
  const auto texts = [](const char* initial) { return cxxopts::value<Texts>()->default_value(initial); };
  const auto text = [](const char* initial) { return cxxopts::value<std::string>()->default_value(initial); };
  cxxopts::Options options("epoch_bench", "Times training epochs. Lists are separated by commas.\n");
  options.set_width(110).custom_help("[options]").allow_unrecognised_options();
  auto add = options.add_options();
  add("model", "Some of " + model_names() + "; of several node types rgcn, hetero-sage, rgat, hgt",
      texts("gcn,gat"), "LIST");
  add("graph",
      "Synthetic graphs: " + synthetic_preset_names() +
          "; papers100M, drawn on the device with features, and papers100M/N, an N-th of it, for "
          "--model gcn and sage; of several node types " +
          hetero_preset_names() +
          ", with reverse relations, and mag/N, an N-th of it (default: cora, where no file is given)",
      cxxopts::value<Texts>(), "LIST");
  add("node-order",
      "Node order of synthetic graphs: shuffled, or community (communities are contiguous; grids keep their "
      "order). An order that is not the default of the graph is added to its name",
      cxxopts::value<Texts>(), "LIST");
  add("dataset", "HDF5 files, as for train_gcn", cxxopts::value<Texts>(), "FILES");
  add("split", "Random split instead of the masks in the files, e.g. 60/20/20", cxxopts::value<std::string>(),
      "A/B/C");
  add("hidden", "Hidden width; for a GAT, of each head (default: 16, 8 for GAT)", cxxopts::value<Texts>(),
      "LIST");
  add("layers", "Number of layers; 0: the default of each model", text("0"), "N");
  add("heads", "Attention heads of the hidden layers of models that have heads", texts("8"), "LIST");
  add("features", "auto, dense or sparse: storage of the features that the first layer reads", texts("auto"),
      "LIST");
  add("precision", "fp32, tf32 or bf16", texts("fp32"), "LIST");
  add("reorder", "none, degree, rcm or rabbit: renumber the nodes in this order before training",
      texts("none"), "LIST");
  add("input-dropout",
      "Dropout of the input features (default: that of the model); 0 lets a GCN propagate dense features "
      "once",
      cxxopts::value<std::string>(), "P");
  add("spmm",
      "SpMM algorithms: " + kEnumNames<SpmmAlgorithm>.names() +
          ". Models with heads are composed where one is named; rode-tc and tca round fp32 to tf32 in the "
          "products",
      texts("auto"), "LIST");
  add("attention", "auto, fused or composed", text("auto"), "NAME");
  add("sddmm", "auto, rows or edges: dot products along edges of composed attention", text("auto"), "NAME");
  add("epochs", "Timed epochs; the median is reported", text("30"), "N");
  add("warmup", "Warm-up epochs, not timed", text("5"), "N");
  add("device", "auto, cpu, cuda or cuda:i", text("auto"), "NAME");
  add("gpus", "Numbers of GPUs, e.g. 1,2,4: one run on each, and how the epochs scale",
      cxxopts::value<Texts>(), "LIST");
  add("ranks", "The same with processes on --device cpu", cxxopts::value<Texts>(), "LIST");
  add("aggregation", "Over several ranks: " + kEnumNames<Aggregation>.names() + ". One run of epochs in each",
      texts("auto"), "LIST");
  add("no-cuda-graph", "On CUDA, launch every kernel by itself instead of replaying a captured CUDA graph");
  add("no-graph", "Old name of --no-cuda-graph; will be removed");
  add("edge-weights", "Give the edges of synthetic graphs weights, which are 1");
  add("prune-rows", "Compute only the training nodes in the last layer of a GCN");
  add("roofline",
      "Also measure the memory bandwidth of the device, and print the share of its bound that GCN epochs "
      "reach");
  add("json", "Also write the results to a JSON file", cxxopts::value<std::string>(), "FILE");
  add("csv", "Also write the table to a CSV file", cxxopts::value<std::string>(), "FILE");
  add("h,help", "Print this help");
  return options;
}

}  // namespace

EpochOptions parse_epoch_options(int argc, const char* const* argv) {
  cxxopts::Options description = describe_epoch_options();
  const cxxopts::ParseResult parsed = parse_arguments(
      description, "--no-cuda-graph, --edge-weights, --prune-rows, --roofline and --help take no value", argc,
      argv);
  EpochOptions options;
  if (parsed.count("help") > 0) {
    options.help = description.help();
    return options;
  }
  reject_strays(parsed);
  for (const std::string& model : list(parsed, "model")) options.models.emplace_back(find_model(model).name);
  options.graphs = preset_list(parsed, /*large=*/true);
  options.files = file_list(parsed, "dataset");
  if (options.graphs.empty() && options.files.empty()) options.graphs = {"cora"};
  for (const std::string& n : list(parsed, "hidden")) options.hidden.push_back(positive("hidden", n));
  for (const std::string& n : list(parsed, "heads")) options.heads.push_back(positive("heads", n));
  for (const std::string& form : list(parsed, "features"))
    options.features.push_back(parse_name<FeatureForm>("--features", form));
  for (const std::string& given : list(parsed, "precision"))
    options.precisions.push_back(parse_name<Precision>("--precision", given));
  for (const std::string& order : list(parsed, "reorder"))
    options.reorder.push_back(parse_name<NodeOrder>("--reorder", order));
  options.shuffle = node_orders(parsed);
  if (const std::string given = one(parsed, "input-dropout"); !given.empty()) {
    double p = -1;
    const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), p);
    check(error == std::errc{} && end == given.data() + given.size() && p >= 0 && p < 1,
          "--input-dropout must be a number in [0, 1), got '", given, "'");
    options.input_dropout = p;
  }
  options.split = one(parsed, "split");
  options.attention = parse_attention_form(one(parsed, "attention"));
  options.sddmm = parse_sddmm_algorithm(one(parsed, "sddmm"));
  if (const std::string layers = one(parsed, "layers"); layers != "0")
    options.layers = static_cast<int>(positive("layers", layers));
  options.epochs = static_cast<int>(positive("epochs", one(parsed, "epochs")));
  options.warmup = static_cast<int>(positive("warmup", one(parsed, "warmup")));
  options.on_gpus = parsed.count("gpus") > 0;
  check(!options.on_gpus || parsed.count("ranks") == 0,
        "--gpus and --ranks both say how many ranks to start: leave one out");
  if (options.on_gpus || parsed.count("ranks") > 0)
    for (const std::string& n : list(parsed, options.on_gpus ? "gpus" : "ranks"))
      options.ranks.push_back(static_cast<int>(positive(options.on_gpus ? "gpus" : "ranks", n)));
  for (const std::string& form : list(parsed, "aggregation"))
    options.aggregation.push_back(parse_aggregation(form));
  const std::string device = one(parsed, "device");
  check(options.ranks.empty() || device == (options.on_gpus ? "auto" : "cpu") ||
            (options.on_gpus && device == "cuda"),
        options.on_gpus ? "--gpus needs --device cuda" : "--ranks needs --device cpu", ", got ", device);
  options.device = parse_device(options.on_gpus ? "cuda" : device);
  for (const std::string& given : list(parsed, "spmm")) {
    options.spmm.push_back(parse_name<SpmmAlgorithm>("--spmm", given));
    check(options.device.is_cuda() || !is_only_cuda(options.spmm.back()), "--spmm ", given,
          " is for CUDA, got device ", options.device);
  }
  if (parsed.count("no-graph") > 0)
    fmt::print(stderr,
               "epoch_bench: --no-graph is now called --no-cuda-graph; the old name will be removed\n");
  options.cuda_graph = parsed.count("no-cuda-graph") == 0 && parsed.count("no-graph") == 0;
  options.edge_weights = parsed.count("edge-weights") > 0;
  options.prune_rows = parsed.count("prune-rows") > 0;
  options.roofline = parsed.count("roofline") > 0;
  options.csv = one(parsed, "csv");
  options.json = one(parsed, "json");
  check(options.ranks.empty() || (options.csv.empty() && !options.roofline),
        "--csv and --roofline do not go with --gpus and --ranks: --json FILE has their table");
  return options;
}

}  // namespace rodeo::bench
