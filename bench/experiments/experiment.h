/// The experiments of the source texts: each prints its tables and may add charts.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "bench/bench_options.h"
#include "bench/measure.h"
#include "train/report/svg.h"

namespace rodeo::bench {

/// A table with a title. Cells are texts; the first column is aligned left, others right.
class TextTable {
 public:
  TextTable(std::string title, std::vector<std::string> columns);
  void add(std::vector<std::string> row);  // as many cells as columns
  void print() const;

 private:
  std::string title_;
  std::vector<std::vector<std::string>> rows_;  // the first one has the names of the columns
};

/// A number with four digits, or a dash for NaN and infinity.
std::string cell(double value);
std::string cell(std::int64_t value);

/// Statistics of the row lengths.
struct RowStatistics {
  double mean = 0, deviation = 0;
  std::int64_t shortest = 0, longest = 0;
  double below_warp = 0;           // the share of rows that have fewer than 32 nonzeros
  double nonzeros_below_warp = 0;  // the share of all nonzeros in such rows
  double variation() const { return mean > 0 ? deviation / mean : 0; }
};
RowStatistics row_statistics(const Adjacency& adj);

/// What an experiment is given, and what it adds to.
struct ExperimentRun {
  const BenchOptions& options;
  Report& report;
  std::vector<std::pair<std::string, std::string>> charts = {};  // heading, SVG

  Device device() const { return options.device; }
  /// Fewer and smaller cases, which show no performance: the CPU.
  bool small() const { return !device().is_cuda(); }
  std::vector<std::int64_t> widths(std::vector<std::int64_t> standard) const;
  std::vector<DType> dtypes(DType standard) const;

  /// Calls f for each graph that the user gave, or else for each of `standard`, which is loaded then.
  void each_graph(const std::vector<GraphSource>& standard, const std::function<void(const NamedGraph&)>& f);
  /// The weights that --weights asks for; by default the values of the graph's file or twin, else random
  /// ones.
  Tensor weights(const NamedGraph& graph, DType dtype) const;

  /// Verified times by kernel, in ms. Kernels that are wrong or do not support the problem are left out.
  using Times = std::map<std::string, double>;
  Times times(const NamedGraph& graph, Op op, DType dtype, std::int64_t n,
              const std::vector<Kernel>& kernels);
  void add_chart(const std::string& heading, const svg::Axes& axes, const std::vector<svg::Series>& series);
};

/// The time of `kernel`, or NaN.
double time_of(const ExperimentRun::Times& times, const std::string& kernel);
/// The fastest whose name begins with `prefix`, or NaN.
double fastest(const ExperimentRun::Times& times, const std::string& prefix);
/// The kernels of an operation that have one of these names, in their order; other names are ignored.
std::vector<Kernel> kernels_named(Op op, const std::vector<std::string>& names);

/// A table of preprocessing, and its row: ms of the plan, its share of 200 products, and ms a product if it
/// serves 1, 10 or 200 of them.
TextTable amortisation_table(const std::string& title);
std::vector<std::string> amortisation(const std::string& graph, std::int64_t n, double plan, double product);

/// Sources of graphs by name.
std::vector<GraphSource> synthetic_sources(const std::vector<std::string>& names);
std::vector<GraphSource> twin_sources(const std::vector<std::string>& names);

struct Experiment {
  std::string name, title;
  void (*run)(ExperimentRun&);
};
const std::vector<Experiment>& all_experiments();
/// "rode, csr-vector, ..."
std::string experiment_names();

void run_rode(ExperimentRun& run);
void run_csr_vector(ExperimentRun& run);
void run_dense_to_csr(ExperimentRun& run);
void run_coo_to_csr(ExperimentRun& run);
void run_hdf5_to_csr(ExperimentRun& run);
void run_coo_spmv(ExperimentRun& run);
void run_tca(ExperimentRun& run);
void run_clusters(ExperimentRun& run);
void run_rows(ExperimentRun& run);

}  // namespace rodeo::bench
