/// Charts as SVG, without scripts. Colours follow the reader's light or dark scheme.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rodeo::svg {

struct Axes {
  std::string title = {};      // for screen readers
  std::string x = {}, y = {};  // labels
  bool log_x = false, log_y = false;
  bool from_zero = false;                                  // the y axis includes 0
  bool diagonal = false;                                   // of a scatter plot: a dashed line where x is y
  std::vector<double> x_ticks = {};                        // where the data are; empty: round values
  double mark = std::numeric_limits<double>::quiet_NaN();  // a dashed vertical line at this x
  std::string mark_text = {};
};

struct Series {
  std::string name;
  std::vector<double> x, y;  // points that are not finite, or <= 0 on a log axis, are skipped
  bool dots = false;         // draw a dot for each point
};

/// A line chart with a legend. Long series are thinned to the resolution of the chart, keeping extremes.
std::string lines(const Axes& axes, const std::vector<Series>& series);

struct Bar {
  std::string label;
  double value;
  std::string text;  // beside the bar
};
/// A chart of horizontal bars from 0.
std::string bars(std::string_view title, const std::vector<Bar>& bars);

/// A scatter plot with a legend; a point's colour is its class, of as many as there are names.
std::string scatter(const Axes& axes, const std::vector<double>& x, const std::vector<double>& y,
                    const std::vector<std::int64_t>& class_of, const std::vector<std::string>& names);

/// A heat map of counts [n, n] with n names, each row coloured by its shares. Rows have the names, columns
/// are numbered from 0.
std::string heat_map(const Axes& axes, const std::vector<std::int64_t>& counts,
                     const std::vector<std::string>& names);

/// The style sheet of all charts, needed once per page.
std::string_view style();
/// A chart as an SVG file, with the style sheet inside.
std::string standalone(const std::string& chart);

/// An SVG file with charts below each other, each with a heading.
std::string stacked(const std::vector<std::pair<std::string, std::string>>& charts);

/// At most four digits: "12.5", "1e-05".
std::string number(double value);

/// Round values within [low, high], about `count` of them.
std::vector<double> ticks(double low, double high, int count);

}  // namespace rodeo::svg
