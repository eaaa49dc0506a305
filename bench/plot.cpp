#include "bench/plot.h"

#include <algorithm>

#include "train/report/svg.h"

namespace rodeo::bench {
namespace {

/// The widths that were timed: the ticks of a chart.
std::vector<double> columns_of(const std::vector<svg::Series>& all) {
  std::vector<double> columns;
  for (const svg::Series& series : all) columns.insert(columns.end(), series.x.begin(), series.x.end());
  std::sort(columns.begin(), columns.end());
  columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  return columns;
}

}  // namespace

std::string plot(const Report& report) {
  std::vector<std::pair<std::string, std::vector<svg::Series>>> charts;  // in the order of the table
  for (const Result& r : report.results) {
    const std::string heading = str(r.graph, ", ", name(r.op), ", ", r.dtype, r.weighted ? ", weighted" : "");
    auto chart =
        std::find_if(charts.begin(), charts.end(), [&](const auto& c) { return c.first == heading; });
    if (chart == charts.end()) chart = charts.insert(charts.end(), {heading, {}});
    std::vector<svg::Series>& all = chart->second;
    auto series = std::find_if(all.begin(), all.end(), [&](const auto& s) { return s.name == r.kernel; });
    if (series == all.end()) series = all.insert(all.end(), {r.kernel, {}, {}, /*dots=*/true});
    series->x.push_back(static_cast<double>(r.n));
    series->y.push_back(r.ms);
  }
  std::vector<std::pair<std::string, std::string>> drawn;
  for (const auto& [heading, series] : charts)
    drawn.emplace_back(heading, svg::lines({.title = heading,
                                            .x = "columns",
                                            .y = "ms",
                                            .log_x = true,
                                            .log_y = true,
                                            .x_ticks = columns_of(series)},
                                           series));
  return svg::stacked(drawn);
}

}  // namespace rodeo::bench
