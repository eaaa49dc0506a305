/// The measurements of sparse_bench and their comparison with the baselines.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "bench/graphs.h"
#include "bench/kernels.h"
#include "bench/limits.h"
#include "bench/verify.h"

namespace rodeo::bench {

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// One kernel on one problem. Unknown ratios are NaN.
///   tbps      SpMM, SDDMM: edges x n x element size / time, the traffic of a gather without caches.
///             SpMV: every column index, row pointer, weight and element of x and y once / time.
///   of_limit  SpMM, SDDMM: tbps / Limits::gather(n x element size, at most 1024; cols x n x element size).
///   It
///             can exceed 1, because frequently gathered rows hit the L1. SpMV: tbps / Limits::copy.
struct Result {
  std::string graph;
  std::int64_t rows, cols, edges;
  Op op;
  DType dtype;
  bool weighted;
  std::int64_t n;
  std::string kernel;
  bool peer;
  double ms, tbps, gflops, of_limit;
  double error;  // of the whole result: Distance::total
  Verdict verdict = Verdict::kRight;
  // What RoDe ran, if that is not "rode": "rode-small" or "rode-tiny"; what auto took.
  std::string variant = {};
  // Time of the fastest cuSPARSE kernel, of its default / ms. A wrong peer is not counted, and a wrong kernel
  // has no ratio.
  double vs_best = kUnknown, vs_default = kUnknown;
};

/// Fills everything except vs_best and vs_default.
Result make_result(const NamedGraph& graph, const Problem& problem, const Kernel& kernel, double ms,
                   const Verification& verification, const Limits& limits);
/// Fills vs_best and vs_default in the results of one problem.
void compare_with_peers(std::vector<Result>& cell);

inline constexpr const char* kBestOfOurs = "best of ours";
/// vs_best of one kernel of Rodeo, or of the fastest one per problem, over all problems of an op and a dtype,
/// with or without weights, that cuSPARSE was timed on too.
struct Summary {
  Op op;
  DType dtype;
  bool weighted = false;
  std::string kernel;  // or kBestOfOurs
  int cells = 0;
  double mean = 0;   // geometric mean of vs_best
  double worst = 0;  // smallest ratio
  std::string worst_cell;
};
std::vector<Summary> summarize(const std::vector<Result>& results);

struct PlanCost {
  std::string graph, plan;
  double ms;
};

struct Report {
  std::vector<std::pair<std::string, std::string>> header;  // key, value
  Limits limits;
  std::vector<PlanCost> plans;
  std::vector<Result> results;
  std::vector<std::string> skipped;  // one line for each kernel that does not support a problem
  std::vector<std::string> faults;   // one line for each result that is inexact or wrong
  bool ours_wrong = false;
};

}  // namespace rodeo::bench
