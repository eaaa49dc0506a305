/// What sparse_bench found out, and how it is compared.
#pragma once

#include <string>
#include <vector>

#include "tests/bench/graphs.h"
#include "tests/bench/kernels.h"
#include "tests/bench/limits.h"

namespace rodeo::bench {

/// One kernel on one problem. Ratios and shares that cannot be known are NaN.
///   tbps      SpMM, SDDMM: edges x n x size of an element / time, what a gather without any cache would
///   read.
///             SpMV: every column index, row pointer, weight and element of x and y once / time.
///   of_limit  SpMM, SDDMM: tbps / Limits::gather(n x size, at most 1024; cols x n x size). Popular rows hit
///             the L1, so it can exceed 1. SpMV: tbps / Limits::copy.
struct Result {
  std::string graph;
  std::int64_t rows, cols, edges;
  Op op;
  DType dtype;
  bool weighted;
  std::int64_t n;
  std::string kernel;
  bool peer;
  double ms, tbps, gflops, of_limit, error;
  double vs_best, vs_default;  // time of cuSPARSE's best, of its default / this one's; above 1 is faster
};

/// Everything but the comparison with peers.
Result make_result(const NamedGraph& graph, const Problem& problem, const Kernel& kernel, double ms,
                   double error, const Limits& limits);
/// Fills vs_best and vs_default in the results of one problem.
void compare_with_peers(std::vector<Result>& cell);

inline constexpr const char* kBestOfOurs = "best of ours";
/// Over the problems of an op and a type that both have timed: cuSPARSE's best against one kernel of ours,
/// or against the fastest of ours in each.
struct Summary {
  Op op;
  DType dtype;
  std::string kernel;  // or kBestOfOurs
  int cells = 0;
  double mean = 0;   // geometric
  double worst = 0;  // smallest ratio
  std::string worst_cell;
};
std::vector<Summary> summarize(const std::vector<Result>& results);

struct PlanCost {
  std::string graph, plan;
  double ms;
};

struct Report {
  std::vector<std::pair<std::string, std::string>> header;  // what, value
  Limits limits;
  std::vector<PlanCost> plans;
  std::vector<Result> results;
  std::vector<std::string> skipped;  // one line for each kernel that could not take a problem
};

}  // namespace rodeo::bench
