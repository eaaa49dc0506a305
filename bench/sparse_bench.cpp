/// sparse_bench: times sparse kernels x graphs x widths x dtypes and compares them with cuSPARSE and with the
/// measured bandwidth limits of the device. All elements of a result are verified against float64 first.
/// Exit codes: 0; 1 for a wrong result of ours; 2 for a bad option or file.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "bench/bench_options.h"
#include "bench/experiments/experiment.h"
#include "bench/explain.h"
#include "bench/export.h"
#include "bench/measure.h"
#include "bench/peers.h"
#include "bench/plot.h"
#include "bench/table.h"
#include "core/quoting.h"
#include "core/threads.h"
#include "core/version.h"

namespace rodeo::bench {
namespace {

// Called after each cell, so that a run which is stopped keeps what it measured.
void append_rows(std::ofstream& csv, const std::string& path, const Report& report, std::size_t first) {
  if (path.empty()) return;
  write_csv_rows(report.results, first, csv);
  csv.flush();
  check(csv.good(), path, ": writing failed");
}

void measure_graph(const NamedGraph& graph, const BenchOptions& options, std::ofstream& csv, Report& report) {
  for (const Plan& plan : all_plans())
    report.plans.push_back({graph.name, plan.name, time_plan(plan, graph.adj, std::min(options.repeats, 5))});
  print_graph(graph, report.plans);
  print_columns();
  for (const Op op : options.ops) {
    const std::vector<Kernel> kernels = select_kernels(op, options.kernels);
    if (kernels.empty()) continue;
    const std::vector<std::int64_t> widths = op == Op::kSpmv ? std::vector<std::int64_t>{1} : options.widths;
    for (const DType dtype : options.dtypes)
      for (const Weights weights : options.weights)
        for (const std::int64_t n : widths) {
          const Problem problem = make_problem(op, graph.adj, dtype, n, make_weights(graph, weights, dtype));
          const std::size_t first = report.results.size();
          print_cell(measure_cell(graph, problem, kernels, options.repeats, report));
          append_rows(csv, options.csv, report, first);
        }
  }
  if (options.explain) fmt::print("\n{}", explain(graph, options));
}

// Returns their charts as one SVG file.
std::string run_experiments(const BenchOptions& options, Report& report) {
  ExperimentRun run{options, report};
  for (const Experiment& experiment : all_experiments()) {
    if (std::find(options.experiments.begin(), options.experiments.end(), experiment.name) ==
        options.experiments.end())
      continue;
    fmt::print("\n== {}: {}\n", experiment.name, experiment.title);
    experiment.run(run);
  }
  print_faults(report);
  fmt::print(
      "\n\"twin of\": a random matrix with the rows, columns, nonzeros and the mean, deviation and maximum "
      "of "
      "the row lengths\nof the matrix of that name. Products are weighted, unless --weights none is given; "
      "times are medians with a flushed L2.\n");
  return svg::stacked(run.charts);
}

// Opened before the first measurement, so that a path that cannot be written fails at once.
std::ofstream open_output(const std::string& path) {
  std::ofstream file;
  if (path.empty()) return file;
  file.open(path);
  check(file.is_open(), path, ": cannot be written");
  return file;
}

template <class F>
void finish(std::ofstream& file, const std::string& path, const F& write, const Report& report) {
  if (path.empty()) return;
  write(report, file);
  file.flush();
  check(file.good(), path, ": writing failed");
}

// Returns the exit code.
int run(const BenchOptions& options) {
  std::ofstream csv = open_output(options.csv), json = open_output(options.json),
                picture = open_output(options.plot);
  Report report;
  report.header = {{"command", options.command},
                   {"rodeo", fmt::format("{} ({})", RODEO_VERSION, RODEO_COMMIT)},
                   {"device", describe(options.device)}};
#if RODEO_WITH_CUDA
  if (options.device.is_cuda()) report.header.emplace_back("versions", cuda_versions());
#endif
  print_header(report);
  if (!options.csv.empty()) write_csv_header(csv);
  std::string drawn;
  if (options.experiments.empty()) {
    report.limits = measure_limits(options.device);
    print_limits(report.limits);
    for (const GraphSource& source : options.graphs)
      measure_graph(load_graph(source, options.device), options, csv, report);
    print_summary(report);
    drawn = plot(report);
  } else {
    drawn = run_experiments(options, report);
    append_rows(csv, options.csv, report, 0);
  }
  finish(json, options.json, write_json, report);
  finish(
      picture, options.plot, [&](const Report&, std::ostream& out) { out << drawn; }, report);

  return report.ours_wrong ? 1 : 0;
}

}  // namespace
}  // namespace rodeo::bench

int main(int argc, char** argv) {
  rodeo::configure_threads(argv);
  try {
    const rodeo::bench::BenchOptions options = rodeo::bench::parse_bench_options(argc, argv);
    if (options.help.empty()) return rodeo::bench::run(options);
    fmt::print("{}", options.help);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "sparse_bench: {}\n", rodeo::printable(error.what()));
    return 2;
  }
}
