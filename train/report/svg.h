/// Small charts as SVG: no scripts, colours by the reader's light or dark scheme.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rodeo::svg {

struct Axes {
  std::string title;  // what a screen reader says
  std::string x, y;   // labels
  bool log_x = false, log_y = false;
  bool from_zero = false;  // the y axis includes 0
};

struct Series {
  std::string name;
  std::vector<double> x, y;  // points that are not finite, or not above 0 on a log axis, are left out
  bool dots = false;         // a dot for each point
};

/// Lines over common axes with a legend. Of many points so many are drawn as the width can show, the extremes
/// among them.
std::string lines(const Axes& axes, const std::vector<Series>& series);

struct Bar {
  std::string label;
  double value;
  std::string text;  // beside the bar
};
/// Horizontal bars from 0.
std::string bars(std::string_view title, const std::vector<Bar>& bars);

/// Points of a plane; the class of each chooses its colour, of `classes`.
std::string scatter(const Axes& axes, const std::vector<double>& x, const std::vector<double>& y,
                    const std::vector<std::int64_t>& class_of, std::int64_t classes);

/// A table of counts [n, n], rows coloured by their shares; rows and columns are numbered from 0.
std::string heat_map(const Axes& axes, const std::vector<std::int64_t>& counts, std::int64_t n);

/// Style sheet that all charts need once a page.
std::string_view style();
/// A chart as a file of its own: with the style sheet inside.
std::string standalone(const std::string& chart);

/// Charts under each other, each below its heading, as a file of its own.
std::string stacked(const std::vector<std::pair<std::string, std::string>>& charts);

/// <, >, &, ' and " as entities; bytes that are not UTF-8 text, and control characters, as '?'.
std::string escape(std::string_view text);
/// "12.5", "1e-05": at most four digits.
std::string number(double value);

/// Round values within [low, high], about `count` of them.
std::vector<double> ticks(double low, double high, int count);

}  // namespace rodeo::svg
