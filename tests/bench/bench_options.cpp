#include "tests/bench/bench_options.h"

#include "tests/bench/arguments.h"

namespace rodeo::bench {
namespace {

cxxopts::Options describe_options() {
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
      "Synthetic graphs of a named size: arxiv, reddit, products (default: arxiv, where no file is given)",
      texts(), "LIST");
  add("node-order",
      "Node order of synthetic graphs: shuffled, or community (communities are contiguous; adds -sorted to "
      "the name)",
      texts()->default_value("shuffled"), "LIST");
  add("reorder", "none, degree, rcm or rabbit: renumber the nodes of the graphs in this order",
      texts()->default_value("none"), "LIST");
  add("dataset", "HDF5 files; only the edges are read", texts(), "FILES");
  add("mtx", "Matrix Market files", texts(), "FILES");
  add("widths", "Columns of the dense operand; SpMV always has one",
      texts()->default_value("16,32,64,128,256"), "LIST");
  add("dtypes", "f32, f16, bf16, f64", texts()->default_value("f32"), "LIST");
  add("kernels", "Time only these kernels, e.g. rode, cusparse-alg2, or cusparse for the whole family",
      texts(), "LIST");
  add("weighted", "Random edge weights instead of ones");
  add("repeats", "Timed runs; the median is reported. GPU runs below 50 us are repeated five times as often",
      text("20"), "N");
  add("device", "auto, cpu, cuda or cuda:i", text("auto"), "NAME");
  add("plot", "Also write an SVG plot: milliseconds by columns", cxxopts::value<std::string>(), "FILE");
  add("csv", "Also write the table to a CSV file", cxxopts::value<std::string>(), "FILE");
  add("json", "Also write the whole report to a JSON file", cxxopts::value<std::string>(), "FILE");
  add("h,help", "Print this help");
  return options;
}

DType parse_dtype(const std::string& text) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kF64})
    if (name(dtype) == text) return dtype;
  fail("unknown dtype '", text, "': expected f32, f16, bf16 or f64");
}

std::vector<Op> parse_ops(const std::string& text) {
  const std::vector<Op> all{Op::kSpmm, Op::kSddmm, Op::kSpmv};
  if (text == "all") return all;
  for (const Op op : all)
    if (name(op) == text) return {op};
  fail("unknown op '", text, "': expected spmm, sddmm, spmv or all");
}

}  // namespace

BenchOptions parse_bench_options(int argc, const char* const* argv) {
  cxxopts::Options description = describe_options();
  const cxxopts::ParseResult parsed =
      parse_arguments(description, "--weighted and --help take no value", argc, argv);
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
  const Texts files = file_list(parsed, "dataset"), matrices = file_list(parsed, "mtx");
  Texts sizes = preset_list(parsed);
  if (sizes.empty() && files.empty() && matrices.empty()) sizes = {"arxiv"};
  for (const std::string& size : sizes)
    for (const std::string& order : list(parsed, "node-order"))
      sources.push_back({GraphSource::Kind::kSynthetic, size, parse_shuffle(order)});
  for (const std::string& path : files) sources.push_back({GraphSource::Kind::kHdf5, path});
  for (const std::string& path : matrices) sources.push_back({GraphSource::Kind::kMatrixMarket, path});
  for (const GraphSource& source : sources)
    for (const std::string& order : list(parsed, "reorder")) {
      options.graphs.push_back(source);
      options.graphs.back().reorder = parse_node_order(order);
    }
  for (const std::string& width : list(parsed, "widths")) options.widths.push_back(positive("widths", width));
  for (const std::string& dtype : list(parsed, "dtypes")) options.dtypes.push_back(parse_dtype(dtype));
  options.kernels = list(parsed, "kernels");
  check_filter(options.kernels, options.ops);
  options.repeats = static_cast<int>(positive("repeats", one(parsed, "repeats")));
  options.weighted = parsed.count("weighted") > 0;
  options.device = parse_device(one(parsed, "device"));
  options.csv = one(parsed, "csv");
  options.plot = one(parsed, "plot");
  options.json = one(parsed, "json");
  return options;
}

}  // namespace rodeo::bench
