#include "bench/experiments/experiment.h"

#include "core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace rodeo::bench {

TextTable::TextTable(std::string title, std::vector<std::string> columns)
    : title_(std::move(title)), rows_{std::move(columns)} {}

void TextTable::add(std::vector<std::string> row) {
  check(row.size() == rows_.front().size(), "[table] ", title_, ": ", row.size(), " cells in ",
        rows_.front().size(), " columns");
  rows_.push_back(std::move(row));
}

void TextTable::print() const {
  std::vector<std::size_t> width(rows_.front().size());
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], row[i].size());
  fmt::print("\n{}\n", title_);
  for (const auto& row : rows_) {
    fmt::print("{:<{}}", row[0], width[0]);
    for (std::size_t i = 1; i < row.size(); ++i) fmt::print("  {:>{}}", row[i], width[i]);
    fmt::print("\n");
  }
  std::fflush(stdout);
}

std::string cell(double value) {
  return std::isfinite(value) ? fmt::format("{:.4g}", value) : "-";
}

std::string cell(std::int64_t value) {
  return str(value);
}

namespace {

constexpr std::int64_t kProducts[] = {1, 10, 200};  // over which preprocessing is amortised

}  // namespace

TextTable amortisation_table(const std::string& title) {
  std::vector<std::string> columns{"matrix", "n", "plan ms", "product ms", "share of 200"};
  for (const std::int64_t count : kProducts) columns.push_back(count_of(count, "product"));
  return {title + ": ms of the plan, its share of 200 products, and ms a product with it", columns};
}

std::vector<std::string> amortisation(const std::string& graph, std::int64_t n, double plan, double product) {
  std::vector<std::string> row{graph, cell(n), cell(plan), cell(product), cell(plan / (200 * product))};
  for (const std::int64_t count : kProducts) row.push_back(cell(product + plan / static_cast<double>(count)));
  return row;
}

RowStatistics row_statistics(const Adjacency& adj) {
  const auto row_ptr = adj.csr().row_ptr.to_vector<std::int64_t>();
  constexpr std::int64_t kWarp = 32;
  const auto rows = static_cast<double>(adj.rows()), nonzeros = static_cast<double>(adj.num_edges());
  RowStatistics out{.mean = nonzeros / rows};
  out.shortest = row_ptr.size() > 1 ? row_ptr[1] : 0;
  double squares = 0;
  for (std::size_t i = 1; i < row_ptr.size(); ++i) {
    const std::int64_t length = row_ptr[i] - row_ptr[i - 1];
    const auto of_row = static_cast<double>(length);
    out.shortest = std::min(out.shortest, length);
    out.longest = std::max(out.longest, length);
    squares += (of_row - out.mean) * (of_row - out.mean);
    if (length >= kWarp) continue;
    out.below_warp += 1 / rows;
    out.nonzeros_below_warp += of_row / nonzeros;
  }
  out.deviation = std::sqrt(squares / rows);
  return out;
}

std::vector<std::int64_t> ExperimentRun::widths(std::vector<std::int64_t> standard) const {
  return options.widths_given ? options.widths : std::move(standard);
}

std::vector<DType> ExperimentRun::dtypes(DType standard) const {
  return options.dtypes_given ? options.dtypes : std::vector<DType>{standard};
}

void ExperimentRun::each_graph(const std::vector<GraphSource>& standard,
                               const std::function<void(const NamedGraph&)>& f) {
  for (const GraphSource& source : options.graphs_given ? options.graphs : standard)
    f(load_graph(source, device()));
}

Tensor ExperimentRun::weights(const NamedGraph& graph, DType dtype) const {
  if (options.weights_given) return make_weights(graph, options.weights.front(), dtype);
  return make_weights(graph, graph.values.defined() ? Weights::kFile : Weights::kRandom, dtype);
}

ExperimentRun::Times ExperimentRun::times(const NamedGraph& graph, Op op, DType dtype, std::int64_t n,
                                          const std::vector<Kernel>& kernels) {
  const Problem problem = make_problem(op, graph.adj, dtype, n, weights(graph, dtype));
  Times times;
  for (const Result& result : measure_cell(graph, problem, kernels, options.repeats, report))
    if (result.verdict != Verdict::kWrong) times[result.kernel] = result.ms;
  return times;
}

void ExperimentRun::add_chart(const std::string& heading, const svg::Axes& axes,
                              const std::vector<svg::Series>& series) {
  charts.emplace_back(heading, svg::lines(axes, series));
}

double time_of(const ExperimentRun::Times& times, const std::string& kernel) {
  const auto at = times.find(kernel);
  return at == times.end() ? kUnknown : at->second;
}

double fastest(const ExperimentRun::Times& times, const std::string& prefix) {
  double best = kUnknown;
  for (const auto& [kernel, ms] : times)
    if (kernel.starts_with(prefix)) best = std::fmin(best, ms);
  return best;
}

std::vector<Kernel> kernels_named(Op op, const std::vector<std::string>& names) {
  std::vector<Kernel> chosen;
  for (const std::string& name : names)
    for (const Kernel& kernel : all_kernels())
      if (kernel.op == op && kernel.name == name) chosen.push_back(kernel);
  return chosen;
}

std::vector<GraphSource> synthetic_sources(const std::vector<std::string>& names) {
  std::vector<GraphSource> sources;
  for (const std::string& name : names) sources.push_back({GraphSource::Kind::kSynthetic, name});
  return sources;
}

std::vector<GraphSource> twin_sources(const std::vector<std::string>& names) {
  std::vector<GraphSource> sources;
  for (const std::string& name : names) sources.push_back({GraphSource::Kind::kTwin, name});
  return sources;
}

const std::vector<Experiment>& all_experiments() {
  static const std::vector<Experiment> experiments{
      {"rode", "RoDe: SpMM and SDDMM by the variation of row lengths, and what each part brings", run_rode},
      {"csr-vector", "CSR-vector: THREADS_PER_VECTOR by mean row length", run_csr_vector},
      {"dense-to-csr", "Dense to CSR: time by size and density, scan on the CPU against the GPU",
       run_dense_to_csr},
      {"coo-to-csr", "Edge list to CSR: ids, weights, symmetrise, duplicates", run_coo_to_csr},
      {"hdf5-to-csr", "HDF5 file to CSR, end to end: edge list against CSR", run_hdf5_to_csr},
      {"coo-spmv", "COO SpMV against CSR-vector on power-law and banded matrices", run_coo_spmv},
      {"tca", "TCA-SpMM: speed by columns and by sparsity, MMA counts", run_tca},
      {"clusters", "Clusters: what the order of RoDe's plan brings on each kind of graph", run_clusters},
      {"rows", "Row lengths: mean, deviation, range, and the share below a warp", run_rows},
  };
  return experiments;
}

std::string experiment_names() {
  return join(all_experiments(), ", ", &Experiment::name);
}

}  // namespace rodeo::bench
