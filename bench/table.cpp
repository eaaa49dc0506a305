#include "bench/table.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>

namespace rodeo::bench {
namespace {

// A number, or a dash for NaN.
std::string known(double value, const char* format) {
  return std::isnan(value) ? "-" : fmt::format(fmt::runtime(format), value);
}

// At least three significant digits.
std::string significant(double value) {
  return fmt::format(fmt::runtime(value < 1 ? "{:.4f}" : value < 100 ? "{:.2f}" : "{:.0f}"), value);
}

}  // namespace

void print_header(const Report& report) {
  for (const auto& [what, value] : report.header) fmt::print("{:9} {}\n", what, value);
}

void print_limits(const Limits& limits) {
  fmt::print("\nLimits: copy {:.2f} TB/s (read + write)", limits.copy);
  if (limits.gathers.empty()) return fmt::print("\n");
  fmt::print("; random rows, TB/s of gathered bytes:\n{:14}", "");
  const std::int64_t first = limits.gathers.front().table_bytes;
  for (const Limits::Gather& g : limits.gathers)
    if (g.table_bytes == first) fmt::print("{:>8}", fmt::format("{} B", g.row_bytes));
  std::int64_t table = 0;
  for (const Limits::Gather& g : limits.gathers) {
    if (g.table_bytes != table) fmt::print("\n{:>14}", fmt::format("{} MiB table", g.table_bytes >> 20));
    fmt::print("{:>8.2f}", g.tbps);
    table = g.table_bytes;
  }
  fmt::print("\n");
}

void print_graph(const NamedGraph& graph, const std::vector<PlanCost>& plans) {
  const Adjacency& adj = graph.adj;
  fmt::print("\n{}: {} x {}, {} edges, {:.1f} a row, at most {}\n", graph.name, adj.rows(), adj.cols(),
             adj.num_edges(), static_cast<double>(adj.num_edges()) / static_cast<double>(adj.rows()),
             graph.longest);
  for (const PlanCost& cost : plans)
    if (cost.graph == graph.name) fmt::print("  plan {}: {:.3f} ms, once a graph\n", cost.plan, cost.ms);
}

void print_columns() {
  fmt::print("{:5} {:4} {:1} {:>5}  {:24} {:>10} {:>7} {:>8} {:>8} {:>8} {:>7} {:>9}\n", "op", "type", "w",
             "n", "kernel", "ms", "TB/s", "GFLOP/s", "of limit", "error", "x best", "x default");
}

void print_cell(const std::vector<Result>& cell) {
  for (const Result& r : cell)
    fmt::print("{:5} {:4} {:1} {:>5}  {:24} {:>10.4f} {:>7} {:>8} {:>8} {:>8.0e} {:>7} {:>9}{}{}\n",
               name(r.op), name(r.dtype), r.weighted ? "w" : "-", r.n,
               r.variant.empty() ? r.kernel : r.kernel + ": " + r.variant, r.ms, significant(r.tbps),
               significant(r.gflops), known(r.of_limit, "{:.2f}"), r.error, known(r.vs_best, "{:.2f}"),
               known(r.vs_default, "{:.2f}"), r.verdict == Verdict::kRight ? "" : "  ", mark(r.verdict));
  std::fflush(stdout);
}

void print_faults(const Report& report) {
  for (const std::string& line : report.skipped) fmt::print("not timed: {}\n", line);
  for (const std::string& line : report.faults) fmt::print("{}\n", line);
}

void print_summary(const Report& report) {
  print_faults(report);
  fmt::print(
      "\nms: median, L2 flushed before each run, without plans and preprocessing. w: with edge weights. "
      "TB/s: "
      "edges x n x\nelement size / time; SpMV: indices, weights, x and y once. of limit: TB/s / measured "
      "gather "
      "limit for rows of n x\nelement size (at most 1024 B) and the size of X, SpMV: / copy limit; it can "
      "exceed "
      "1, because frequently gathered rows\nhit the L1. error: norm of the difference of all elements to "
      "float64 "
      "/ norm. inexact: a peer beyond eight times the\ntolerance of the type. WRONG: beyond 5 % (ours: "
      "beyond the "
      "tolerance); not compared. x best, x default: time of the\nfastest and of the default cuSPARSE "
      "algorithm / "
      "ms; above 1 is faster. rode-atomic is timed only where rows are split;\notherwise it launches the "
      "same "
      "kernel as rode.\n");
  const std::vector<Summary> summaries = summarize(report.results);
  if (summaries.empty()) return;
  fmt::print("\nSpeed relative to the fastest cuSPARSE algorithm\n{:5} {:4} {:1} {:16} {:>5} {:>14}  {}\n",
             "op", "type", "w", "kernel", "cells", "geometric mean", "worst cell");
  for (const Summary& s : summaries)
    fmt::print("{:5} {:4} {:1} {:16} {:>5} {:>14.2f}  {:.2f} {}\n", name(s.op), name(s.dtype),
               s.weighted ? "w" : "-", s.kernel, s.cells, s.mean, s.worst, s.worst_cell);
}

}  // namespace rodeo::bench
