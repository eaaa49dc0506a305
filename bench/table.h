/// Prints results as a table on stdout.
#pragma once

#include "bench/results.h"

namespace rodeo::bench {

void print_header(const Report& report);
void print_limits(const Limits& limits);
void print_graph(const NamedGraph& graph, const std::vector<PlanCost>& plans);
/// print_columns() prints the column titles, print_cell() the results of one problem.
void print_columns();
void print_cell(const std::vector<Result>& cell);
/// Kernels that were not timed, and results that are inexact or wrong.
void print_faults(const Report& report);
void print_summary(const Report& report);

}  // namespace rodeo::bench
