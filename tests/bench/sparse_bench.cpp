/// sparse_bench: times sparse kernels x graphs x widths x dtypes and compares them with cuSPARSE and with the
/// measured bandwidth limits of the device. Every result is verified against float64 before it is timed.
/// Exit codes: 0; 1 for a wrong result; 2 for a bad option or file.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <optional>

#include "core/version.h"
#include "tests/bench/bench_options.h"
#include "tests/bench/export.h"
#include "tests/bench/peers.h"
#include "tests/bench/plot.h"
#include "tests/bench/table.h"
#include "tests/bench/timing.h"
#include "tests/bench/verify.h"

namespace rodeo::bench {
namespace {

// Every run gets a graph without cached plans, so that the plan is rebuilt.
double time_plan(const Plan& plan, const Adjacency& adj, int repeats) {
  plan.build(Adjacency::trusted(adj.csr()));
  std::vector<double> times;
  for (int i = 0; i < repeats; ++i) {
    const Adjacency fresh = Adjacency::trusted(adj.csr());
    synchronize(adj.device());
    const auto begin = std::chrono::steady_clock::now();
    plan.build(fresh);
    synchronize(adj.device());
    times.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
  }
  std::nth_element(times.begin(), times.begin() + repeats / 2, times.end());
  return times[repeats / 2];
}

// Empty if the kernel does not support the problem. A kernel that finds this out when it runs is listed in
// report.skipped.
std::optional<Result> measure(const NamedGraph& graph, const Problem& problem, const Kernel& kernel,
                              const Reference& reference, int repeats, Report& report) {
  try {
    const Run run = kernel.prepare(problem);
    if (!run) return {};
    const double error = verify(kernel, problem, run, reference);
    const double ms = median_milliseconds(problem.adj.device(), repeats, run);
    return make_result(graph, problem, kernel, ms, error, report.limits);
  } catch (const Unsupported& reason) {
    report.skipped.push_back(str(name(problem.op), " ", kernel.name, ", ", graph.name, ", ", problem.dtype,
                                 ", n = ", problem.n, ": ", reason.what()));
    return {};
  }
}

void measure_graph(const NamedGraph& graph, const BenchOptions& options, Report& report) {
  for (const Plan& plan : all_plans())
    report.plans.push_back({graph.name, plan.name, time_plan(plan, graph.adj, std::min(options.repeats, 5))});
  print_graph(graph, report.plans);
  print_columns();
  for (const Op op : options.ops) {
    const std::vector<Kernel> kernels = select_kernels(op, options.kernels);
    if (kernels.empty()) continue;
    const std::vector<std::int64_t> widths = op == Op::kSpmv ? std::vector<std::int64_t>{1} : options.widths;
    for (const DType dtype : options.dtypes)
      for (const std::int64_t n : widths) {
        const Problem problem = make_problem(op, graph.adj, dtype, n, options.weighted);
        const Reference reference(problem);
        std::vector<Result> cell;
        for (const Kernel& kernel : kernels)
          if (auto result = measure(graph, problem, kernel, reference, options.repeats, report))
            cell.push_back(*result);
        compare_with_peers(cell);
        print_cell(cell);
        report.results.insert(report.results.end(), cell.begin(), cell.end());
      }
  }
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

void run(const BenchOptions& options) {
  std::ofstream csv = open_output(options.csv), json = open_output(options.json),
                picture = open_output(options.plot);
  Report report;
  report.header = {{"command", options.command},
                   {"rodeo", fmt::format("{} ({})", RODEO_VERSION, RODEO_COMMIT)},
                   {"device", describe(options.device)}};
#if RODEO_WITH_CUDA
  if (options.device.is_cuda()) report.header.emplace_back("versions", cuda_versions());
#endif
  report.header.emplace_back("edges", options.weighted ? "random weights" : "ones");
  print_header(report);
  report.limits = measure_limits(options.device);
  print_limits(report.limits);
  for (const GraphSource& source : options.graphs)
    measure_graph(load_graph(source, options.device), options, report);
  print_summary(report);
  finish(csv, options.csv, write_csv, report);
  finish(json, options.json, write_json, report);
  finish(
      picture, options.plot, [](const Report& all, std::ostream& out) { out << plot(all); }, report);
}

}  // namespace
}  // namespace rodeo::bench

int main(int argc, char** argv) {
  try {
    const rodeo::bench::BenchOptions options = rodeo::bench::parse_bench_options(argc, argv);
    if (options.help.empty())
      rodeo::bench::run(options);
    else
      fmt::print("{}", options.help);
    return 0;
  } catch (const rodeo::bench::WrongResult& error) {
    fmt::print(stderr, "sparse_bench: {}\n", error.what());
    return 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "sparse_bench: {}\n", error.what());
    return 2;
  }
}
