#include "bench/bench_options.h"

#include <algorithm>

#include "bench/arguments.h"
#include "bench/dense_graph.h"
#include "bench/experiments/experiment.h"
#include "bench/twins.h"

namespace rodeo::bench {
namespace {

cxxopts::Options describe_kernel_options() {
  const auto texts = [] { return cxxopts::value<Texts>(); };
  const auto text = [](const char* initial) { return cxxopts::value<std::string>()->default_value(initial); };
  cxxopts::Options options(
      "sparse_bench",
      "Times sparse kernels and compares them with cuSPARSE and the bandwidth limits of the device.\n"
      "Every result is verified against float64 first. Lists are separated by commas.\n");
  options.set_width(110).custom_help("[options]").allow_unrecognised_options();
  auto add = options.add_options();
  add("op", "spmm, sddmm, spmv or all", texts()->default_value("spmm"), "LIST");
  add("graph",
      "Synthetic graphs: " + synthetic_preset_names() +
          "; e.g. rmat-20-16M, uniform-1M-32, grid-27-100 (default: arxiv, where no file is given)",
      texts(), "LIST");
  add("node-order",
      "Node order of synthetic graphs: shuffled, or community (communities are contiguous; grids keep their "
      "order). An order that is not the default of the graph is added to its name",
      texts(), "LIST");
  add("reorder", "none, degree, rcm or rabbit: renumber the nodes of the graphs in this order",
      texts()->default_value("none"), "LIST");
  add("dataset", "HDF5 files; only the edges are read", texts(), "FILES");
  add("mtx", "Matrix Market files", texts(), "FILES");
  add("twin", "Synthetic twins of the matrices that the source texts name, or all: " + twin_names(), texts(),
      "LIST");
  add("dense",
      "Locally dense graphs, dense blocks on the diagonal and noise: " + dense_graph_names() +
          ", or NODES-BLOCK-PERCENT; in file order, or by --node-order shuffled",
      texts(), "LIST");
  add("experiment",
      "Run the experiments of the source texts instead: " + experiment_names() +
          ", or all. They have their own matrices, columns and types, unless these are given; weights are "
          "the "
          "values of the files",
      texts(), "LIST");
  add("widths", "Columns of the dense operand; SpMV always has one",
      texts()->default_value("16,32,64,128,256"), "LIST");
  add("dtypes", "f32, f16, bf16, f64", texts()->default_value("f32"), "LIST");
  add("kernels", "Time only these kernels, e.g. rode, cusparse-alg2, or cusparse for the whole family",
      texts(), "LIST");
  add("weights",
      "none, random, both, or file: the values of a Matrix Market or HDF5 file. Each is timed in rows of its "
      "own, for SpMM, SDDMM and SpMV",
      texts()->default_value("none"), "LIST");
  add("weighted", "The same as --weights random");
  add("repeats", "Timed runs; the median is reported. GPU runs below 50 us are repeated five times as often",
      text("20"), "N");
  add("device", "auto, cpu, cuda or cuda:i", text("auto"), "NAME");
  add("explain", "Also print what was chosen for each graph and why, and what the kernels launch");
  add("plot", "Also write an SVG plot: milliseconds by columns", cxxopts::value<std::string>(), "FILE");
  add("csv", "Also write the table to a CSV file", cxxopts::value<std::string>(), "FILE");
  add("json", "Also write the whole report to a JSON file", cxxopts::value<std::string>(), "FILE");
  add("h,help", "Print this help");
  return options;
}

std::vector<Op> parse_ops(const std::string& text) {
  const std::vector<Op> all{Op::kSpmm, Op::kSddmm, Op::kSpmv};
  if (text == "all") return all;
  for (const Op op : all)
    if (name(op) == text) return {op};
  fail("unknown op '", text, "': expected spmm, sddmm, spmv or all");
}

Texts twin_list(const cxxopts::ParseResult& parsed) {
  Texts twins;
  for (const std::string& name : list(parsed, "twin"))
    for (const Twin& twin : all_twins())
      if (name == "all" || find_twin(name).name == twin.name) twins.push_back(twin.name);
  return twins;
}

Texts experiment_list(const cxxopts::ParseResult& parsed) {
  Texts chosen;
  for (const std::string& name : list(parsed, "experiment")) {
    const std::size_t before = chosen.size();
    for (const Experiment& experiment : all_experiments())
      if (name == "all" || name == experiment.name) chosen.push_back(experiment.name);
    check(chosen.size() > before, "--experiment must be of ", experiment_names(), ", all, got '", name, "'");
  }
  return chosen;
}

std::vector<Weights> weights_list(const cxxopts::ParseResult& parsed) {
  if (parsed.count("weighted") > 0) {
    check(parsed.count("weights") == 0, "--weighted is --weights random: give one of them");
    return {Weights::kRandom};
  }
  std::vector<Weights> all;
  for (const std::string& text : list(parsed, "weights"))
    for (const Weights weights : parse_weights(text))
      if (std::find(all.begin(), all.end(), weights) == all.end()) all.push_back(weights);
  return all;
}

}  // namespace

BenchOptions parse_bench_options(int argc, const char* const* argv) {
  cxxopts::Options description = describe_kernel_options();
  const cxxopts::ParseResult parsed =
      parse_arguments(description, "--weighted, --explain and --help take no value", argc, argv);
  BenchOptions options;
  if (parsed.count("help") > 0) {
    options.help = description.help();
    return options;
  }
  reject_strays(parsed);

  for (int i = 0; i < argc; ++i) options.command += (i ? " " : "") + std::string(argv[i]);
  for (const std::string& op : list(parsed, "op"))
    for (const Op parsed_op : parse_ops(op)) options.ops.push_back(parsed_op);
  std::vector<GraphSource> sources;
  const Texts files = file_list(parsed, "dataset"), matrices = file_list(parsed, "mtx"),
              dense = list(parsed, "dense");
  Texts sizes = preset_list(parsed);
  options.graphs_given =
      !sizes.empty() || !files.empty() || !matrices.empty() || !dense.empty() || parsed.count("twin") > 0;
  if (!options.graphs_given) sizes = {"arxiv"};
  for (const std::string& size : sizes)
    for (const std::optional<bool> shuffle : node_orders(parsed))
      sources.push_back({GraphSource::Kind::kSynthetic, size, shuffle});
  for (const std::string& name : dense) {
    parse_dense_graph(name);  // throws before anything is measured
    for (const std::optional<bool> shuffle : node_orders(parsed))
      sources.push_back({GraphSource::Kind::kDense, name, shuffle});
  }
  for (const std::string& path : files) sources.push_back({GraphSource::Kind::kHdf5, path});
  for (const std::string& path : matrices) sources.push_back({GraphSource::Kind::kMatrixMarket, path});
  for (const std::string& twin : twin_list(parsed)) sources.push_back({GraphSource::Kind::kTwin, twin});
  for (const GraphSource& source : sources)
    for (const std::string& order : list(parsed, "reorder")) {
      options.graphs.push_back(source);
      options.graphs.back().reorder = parse_name<NodeOrder>("--reorder", order);
    }
  for (const std::string& width : list(parsed, "widths")) options.widths.push_back(positive("widths", width));
  for (const std::string& dtype : list(parsed, "dtypes")) options.dtypes.push_back(parse_dtype(dtype));
  options.kernels = list(parsed, "kernels");
  check_filter(options.kernels, options.ops);
  options.repeats = static_cast<int>(positive("repeats", one(parsed, "repeats")));
  options.weights = weights_list(parsed);
  options.weights_given = parsed.count("weights") > 0 || parsed.count("weighted") > 0;
  options.widths_given = parsed.count("widths") > 0;
  options.dtypes_given = parsed.count("dtypes") > 0;
  options.experiments = experiment_list(parsed);
  options.device = parse_device(one(parsed, "device"));
  options.explain = parsed.count("explain") > 0;
  options.csv = one(parsed, "csv");
  options.plot = one(parsed, "plot");
  options.json = one(parsed, "json");
  return options;
}

}  // namespace rodeo::bench
