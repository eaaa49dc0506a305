// How long rows are: the three statistics that RoDe begins with, over twins and synthetic graphs, or over all
// matrices that are given.
#include <algorithm>

#include "bench/experiments/experiment.h"

namespace rodeo::bench {
namespace {

/// value(m) of all matrices in ascending order, by the share of matrices that have at most as much.
template <class F>
svg::Series distribution(const std::string& name, const std::vector<RowStatistics>& all, F value) {
  svg::Series out{name, {}, {}, /*dots=*/true};
  for (const RowStatistics& m : all) out.y.push_back(value(m));
  std::sort(out.y.begin(), out.y.end());
  for (std::size_t i = 1; i <= all.size(); ++i)
    out.x.push_back(static_cast<double>(i) / static_cast<double>(all.size()));
  return out;
}

}  // namespace

void run_rows(ExperimentRun& run) {
  std::vector<GraphSource> standard =
      twin_sources({"ash219", "shyy41", "Ga41As41H72", "Si41Ge41H72", "mip1", "webbase-1M"});
  const auto synthetic = synthetic_sources(
      run.small() ? std::vector<std::string>{"cora", "grid-5-40", "grid-27-10", "uniform-2K-32",
                                             "powerlaw-2K-30K", "rmat-12-60K"}
                  : std::vector<std::string>{"cora", "pubmed", "arxiv", "reddit", "products", "grid-5-1000",
                                             "grid-7-100", "grid-27-100", "uniform-1M-32", "powerlaw-1M-20M",
                                             "rmat-18-100M", "rmat-20-16M"});
  standard.insert(standard.end(), synthetic.begin(), synthetic.end());
  TextTable table("Row lengths", {"matrix", "rows", "nonzeros", "mean", "deviation", "shortest", "longest",
                                  "range", "rows < 32", "nonzeros in them"});
  std::vector<RowStatistics> all;
  run.each_graph(standard, [&](const NamedGraph& graph) {
    const RowStatistics rows = row_statistics(graph.adj);
    all.push_back(rows);
    table.add({graph.name, cell(graph.adj.rows()), cell(graph.adj.num_edges()), cell(rows.mean),
               cell(rows.deviation), cell(rows.shortest), cell(rows.longest),
               cell(rows.longest - rows.shortest), cell(rows.below_warp), cell(rows.nonzeros_below_warp)});
  });
  table.print();
  const std::string by_matrix = "share of the matrices with at most as much";
  run.add_chart("Rows of fewer than 32 nonzeros, as a share of all rows",
                {.title = "rows below a warp", .x = by_matrix, .y = "share of rows", .from_zero = true},
                {distribution("rows < 32", all, [](const RowStatistics& m) { return m.below_warp; })});
  run.add_chart("Longest row", {.title = "longest row", .x = by_matrix, .y = "nonzeros", .log_y = true},
                {distribution("longest row", all,
                              [](const RowStatistics& m) { return static_cast<double>(m.longest); }),
                 distribution("mean", all, [](const RowStatistics& m) { return m.mean; })});
  run.add_chart("Standard deviation and range of the row lengths",
                {.title = "deviation and range", .x = by_matrix, .y = "nonzeros", .log_y = true},
                {distribution("deviation", all, [](const RowStatistics& m) { return m.deviation; }),
                 distribution("range", all, [](const RowStatistics& m) {
                   return static_cast<double>(m.longest - m.shortest);
                 })});
}

}  // namespace rodeo::bench
