#include "bench/measure.h"

#include <algorithm>
#include <chrono>

#include "bench/timing.h"

namespace rodeo::bench {

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

std::optional<Result> measure(const NamedGraph& graph, const Problem& problem, const Kernel& kernel,
                              int repeats, Report& report) {
  const auto skip = [&](const Error& reason) {
    report.skipped.push_back(str(name(problem.op), " ", kernel.name, ", ", graph.name, ", ", problem.dtype,
                                 ", n = ", problem.n, ": ", reason.what()));
    return std::optional<Result>();
  };
  try {
    const Run run = kernel.prepare(problem);
    if (!run) return {};
    const Verification verification = verify(kernel, problem, run);
    if (!verification.text.empty()) report.faults.push_back(graph.name + ": " + verification.text);
    if (!kernel.peer && verification.verdict == Verdict::kWrong) report.ours_wrong = true;
    const double ms = median_milliseconds(problem.adj.device(), repeats, run);
    return make_result(graph, problem, kernel, ms, verification, report.limits);
  } catch (const Unsupported& reason) {
    return skip(reason);
  } catch (const OutOfMemory& reason) {
    return skip(reason);
  }
}

std::vector<Result> measure_cell(const NamedGraph& graph, const Problem& problem,
                                 const std::vector<Kernel>& kernels, int repeats, Report& report) {
  std::vector<Result> cell;
  for (const Kernel& kernel : kernels)
    if (auto result = measure(graph, problem, kernel, repeats, report)) cell.push_back(*result);
  compare_with_peers(cell);
  report.results.insert(report.results.end(), cell.begin(), cell.end());
  return cell;
}

}  // namespace rodeo::bench
