// CSR-vector SpMV (Bell & Garland, SC 2009): threads for each row by mean row length, in the library's
// kernel, where the block sums long rows, and in the text's, where they have no path of their own.
#include <algorithm>

#include "bench/experiments/experiment.h"
#include "bench/experiments/text_forms.h"

namespace rodeo::bench {

void run_csr_vector(ExperimentRun& run) {
  const std::vector<std::string> threads{"vector-2", "vector-4", "vector-8", "vector-16", "vector-32"};
  std::vector<Kernel> kernels = kernels_named(Op::kSpmv, threads);
  for (const Kernel& kernel : select_kernels(Op::kSpmv, {}))
    if (kernel.name == "vector" || kernel.peer) kernels.push_back(kernel);

  const std::vector<Kernel> printed = printed_vector_kernels();
  kernels.insert(kernels.end(), printed.begin(), printed.end());
  std::vector<GraphSource> standard =
      twin_sources({"shyy41", "ash219", "webbase-1M", "Ga41As41H72", "Si41Ge41H72", "mip1"});
  const auto even = synthetic_sources(
      run.small() ? std::vector<std::string>{"uniform-2K-2", "uniform-2K-8", "uniform-2K-32"}
                  : std::vector<std::string>{"uniform-1M-2", "uniform-1M-4", "uniform-1M-8", "uniform-1M-16",
                                             "uniform-1M-32", "uniform-500K-64"});
  standard.insert(standard.end(), even.begin(), even.end());

  std::vector<std::string> columns{"matrix", "mean", "deviation", "longest"};
  columns.insert(columns.end(), threads.begin(), threads.end());
  for (const char* name : {"vector (auto)", "auto's loss", "cuSPARSE"}) columns.push_back(name);
  const DType dtype = run.dtypes(DType::kF32).front();
  TextTable table(str("CSR-vector SpMV, ", dtype, ", us by THREADS_PER_VECTOR"), columns);
  TextTable text(
      str("CSR-vector SpMV as printed, ", dtype, ", us by THREADS_PER_VECTOR; T: the text's choice"),
      {"matrix", "mean", "longest", "2", "4", "8", "16", "32", "T", "us with T", "x cuSPARSE", "x vector"});
  std::vector<svg::Series> series;
  std::map<double, ExperimentRun::Times> by_mean;
  run.each_graph(standard, [&](const NamedGraph& graph) {
    const RowStatistics rows = row_statistics(graph.adj);
    const ExperimentRun::Times times = run.times(graph, Op::kSpmv, dtype, 1, kernels);
    std::vector<std::string> row{graph.name, cell(rows.mean), cell(rows.deviation), cell(rows.longest)};
    for (const std::string& kernel : threads) row.push_back(cell(1000 * time_of(times, kernel)));
    const double standard_ms = time_of(times, "vector");
    row.push_back(cell(1000 * standard_ms));
    row.push_back(cell(standard_ms / fastest(times, "vector")));
    row.push_back(cell(1000 * fastest(times, "cusparse")));
    table.add(row);
    row = {graph.name, cell(rows.mean), cell(rows.longest)};
    for (const Kernel& kernel : printed) row.push_back(cell(1000 * time_of(times, kernel.name)));
    const std::int64_t chosen = printed_threads_per_vector(rows.mean);
    const double as_printed = time_of(times, str("printed-", chosen));
    for (const std::string& value :
         {cell(chosen), cell(1000 * as_printed), cell(fastest(times, "cusparse") / as_printed),
          cell(standard_ms / as_printed)})
      row.push_back(value);
    text.add(row);
    by_mean[rows.mean] = times;
  });
  table.print();
  text.print();
  for (const std::string& kernel : threads) {
    svg::Series line{kernel, {}, {}, /*dots=*/true};
    for (const auto& [mean, times] : by_mean) {
      line.x.push_back(mean);
      line.y.push_back(time_of(times, kernel) / fastest(times, "vector"));
    }
    series.push_back(line);
  }
  run.add_chart("CSR-vector: time / that of the best, by mean row length",
                {.title = "CSR-vector", .x = "mean row length", .y = "time / best", .log_x = true}, series);
}

}  // namespace rodeo::bench
