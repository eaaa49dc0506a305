/// Verifies and times kernels on one problem.
#pragma once

#include <optional>

#include "bench/results.h"

namespace rodeo::bench {

/// Empty if the kernel does not support the problem, or needs more memory than there is; one that finds this
/// out when it runs is listed in report.skipped. A result that is not right is listed in report.faults.
std::optional<Result> measure(const NamedGraph& graph, const Problem& problem, const Kernel& kernel,
                              int repeats, Report& report);

/// Every kernel that supports the problem, compared with the peers among them. Added to report.results.
std::vector<Result> measure_cell(const NamedGraph& graph, const Problem& problem,
                                 const std::vector<Kernel>& kernels, int repeats, Report& report);

/// Milliseconds of a plan on a graph without cached plans; the median.
double time_plan(const Plan& plan, const Adjacency& adj, int repeats);

}  // namespace rodeo::bench
