#include "bench/results.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "ops/sddmm_tuner.h"
#include "ops/spmm_tuner.h"
#include "ops/spmm_variant.h"
#include "ops/spmv.h"

namespace rodeo::bench {
namespace {

constexpr std::int64_t kLongestGather = 1024;

/// The algorithm that a tuner took for a problem, from the lines of its explanation; "" before its first run.
template <class Problem>
std::string choice_in(const std::string& told, const Problem& problem) {
  const std::string start = str(problem, ": ");
  const std::size_t at = told.find(start);
  if (at == std::string::npos) return "";
  const std::size_t name = at + start.size();
  return told.substr(name, told.find_first_of(",\n", name) - name);
}

std::string choice_of_auto(const Problem& p) {
  if (p.op == Op::kSpmv) return str(name(choose_spmv_algorithm(p.adj)));
  if (p.op == Op::kSddmm)
    return choice_in(explain_sddmm(p.adj), SddmmProblem{1, p.n, p.dtype, p.weight.defined()});
  return choice_in(explain_spmm(p.adj), SpmmProblem{p.n, p.dtype, p.weight.defined(), false});
}

std::int64_t bytes_moved(const Problem& p) {
  const auto size = static_cast<std::int64_t>(size_of(p.dtype));
  const std::int64_t edges = p.adj.num_edges();
  if (p.op != Op::kSpmv) return edges * p.n * size;  // the weights are n times fewer
  return edges * (4 + (p.weight.defined() ? size : 0)) + (p.adj.rows() + 1) * 8 +
         (p.adj.rows() + p.adj.cols()) * size;
}

double limit_of(const Problem& p, const Limits& limits) {
  if (p.op == Op::kSpmv) return limits.copy;
  const std::int64_t row_bytes = p.n * static_cast<std::int64_t>(size_of(p.dtype));
  return limits.gather(std::min(row_bytes, kLongestGather), p.adj.cols() * row_bytes);
}

void add(Summary& summary, double ratio, const Result& result) {
  if (summary.cells == 0 || ratio < summary.worst) {
    summary.worst = ratio;
    summary.worst_cell = str(result.graph, ", n = ", result.n);
    if (summary.kernel == kBestOfOurs) summary.worst_cell += " (" + result.kernel + ")";
  }
  summary.mean += std::log(ratio);
  ++summary.cells;
}

}  // namespace

Result make_result(const NamedGraph& graph, const Problem& p, const Kernel& kernel, double ms,
                   const Verification& verification, const Limits& limits) {
  const double flops = 2 * static_cast<double>(p.adj.num_edges()) * static_cast<double>(p.n);
  const double tbps = static_cast<double>(bytes_moved(p)) / ms / 1e9, limit = limit_of(p, limits);
  Result result{.graph = graph.name,
                .rows = p.adj.rows(),
                .cols = p.adj.cols(),
                .edges = p.adj.num_edges(),
                .op = p.op,
                .dtype = p.dtype,
                .weighted = p.weight.defined(),
                .n = p.n,
                .kernel = kernel.name,
                .peer = kernel.peer,
                .ms = ms,
                .tbps = tbps,
                .gflops = flops / ms / 1e6,
                .of_limit = kUnknown,
                .error = verification.off.total,
                .verdict = verification.verdict};
  if (p.op == Op::kSpmm && kernel.name == "rode") {
    const std::string_view ran = spmm_variant(p.adj, {p.n, p.dtype, p.weight.defined(), false}).name;
    if (ran != kernel.name) result.variant = ran;
  }
  if (kernel.name == "auto") result.variant = choice_of_auto(p);
  if (limit > 0) result.of_limit = tbps / limit;
  return result;
}

void compare_with_peers(std::vector<Result>& cell) {
  double best = kUnknown, standard = kUnknown;
  for (const Result& result : cell) {
    if (!result.peer || result.verdict == Verdict::kWrong) continue;
    best = std::fmin(best, result.ms);  // ignores NaN
    if (result.kernel.starts_with("cusparse-default") && !result.kernel.ends_with("-f32out"))
      standard = result.ms;
  }
  for (Result& result : cell)
    if (result.verdict != Verdict::kWrong)
      result.vs_best = best / result.ms, result.vs_default = standard / result.ms;
}

std::vector<Summary> summarize(const std::vector<Result>& results) {
  std::map<std::tuple<std::string, Op, DType, bool, std::int64_t>, Result>
      fastest;  // kernel of Rodeo for each problem
  std::vector<Summary> out;
  const auto line = [&](const Result& result, const std::string& kernel) -> Summary& {
    for (Summary& summary : out)
      if (summary.op == result.op && summary.dtype == result.dtype && summary.weighted == result.weighted &&
          summary.kernel == kernel)
        return summary;
    return out.emplace_back(Summary{result.op, result.dtype, result.weighted, kernel, 0, 0, 0, {}});
  };
  for (const Result& result : results) {
    if (result.peer || std::isnan(result.vs_best)) continue;
    add(line(result, result.kernel), result.vs_best, result);
    const auto [at, added] =
        fastest.try_emplace({result.graph, result.op, result.dtype, result.weighted, result.n}, result);
    if (!added && result.ms < at->second.ms) at->second = result;
  }
  for (const auto& [problem, result] : fastest) add(line(result, kBestOfOurs), result.vs_best, result);
  for (Summary& summary : out) summary.mean = std::exp(summary.mean / summary.cells);
  std::stable_sort(out.begin(), out.end(), [](const Summary& a, const Summary& b) {
    return std::tie(a.op, a.dtype, a.weighted) < std::tie(b.op, b.dtype, b.weighted);
  });
  return out;
}

}  // namespace rodeo::bench
