#include "train/report/sweep_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "core/error.h"
#include "core/quoting.h"
#include "train/report/spread.h"
#include "train/report/svg.h"

namespace rodeo {
namespace {

double mean_val(const TrialResult& trial) {
  return spread(trial.val).mean;
}

/// The value as a number; NaN if it is none.
double number_of(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? value : std::nan("");
}

/// Where the values of one option stand on the x axis.
struct Places {
  svg::Axes axes;
  std::vector<double> x;
};

Places places_of(const std::string& name, const std::vector<std::string>& values) {
  Places places{{.title = name, .x = name, .y = "validation"}, {}};
  for (const std::string& value : values) places.x.push_back(number_of(value));
  std::vector<double> sorted = places.x;
  if (std::all_of(sorted.begin(), sorted.end(), [](double v) { return std::isfinite(v); })) {
    std::sort(sorted.begin(), sorted.end());
    sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
    places.axes.log_x = sorted.front() > 0 && sorted.back() >= 20 * sorted.front();
    constexpr std::size_t kFew = 8;
    if (sorted.size() <= kFew) places.axes.x_ticks = sorted;
    return places;
  }
  std::vector<std::string>& texts = places.axes.x_names;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto found = std::find(texts.begin(), texts.end(), values[i]);
    places.x[i] = static_cast<double>(found - texts.begin());
    if (found == texts.end()) texts.push_back(values[i]);
  }
  return places;
}

}  // namespace

std::vector<std::size_t> rank_trials(const std::vector<TrialResult>& trials) {
  std::vector<std::size_t> order(trials.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::erase_if(order, [&](std::size_t i) { return !trials[i].failure.empty() || trials[i].val.empty(); });
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return mean_val(trials[a]) > mean_val(trials[b]); });
  return order;
}

std::string format_trials(const std::vector<std::string>& names, const std::vector<TrialResult>& trials,
                          const std::vector<std::size_t>& order, std::size_t most) {
  std::vector<std::vector<std::string>> rows = {{"val", "test"}};
  rows[0].insert(rows[0].end(), names.begin(), names.end());
  for (std::size_t i = 0; i < std::min(most, order.size()); ++i) {
    const TrialResult& trial = trials[order[i]];
    rows.push_back({format_spread(trial.val), format_spread(trial.test)});
    for (const std::string& value : trial.values) rows.back().push_back(printable(value));
  }
  std::vector<std::size_t> widths(rows[0].size(), 0);
  for (const auto& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  std::string table;
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c)
      table += c + 1 < row.size() ? fmt::format("{:<{}}  ", row[c], widths[c]) : row[c];
    table += '\n';
  }
  return table;
}

std::string describe_trial(const std::vector<std::string>& names, const std::vector<std::string>& values) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += str(i > 0 ? ", " : "", names[i], " ", printable(values[i]));
  return text;
}

std::string draw_trials(const std::vector<std::string>& names, const std::vector<TrialResult>& trials,
                        const std::vector<std::size_t>& order) {
  std::vector<std::pair<std::string, std::string>> charts;
  for (std::size_t option = 0; option < names.size(); ++option) {
    std::vector<std::string> values;
    std::vector<double> val;
    std::vector<std::int64_t> is_best;
    // The best one is drawn last, over the others.
    for (auto trial = order.rbegin(); trial != order.rend(); ++trial) {
      values.push_back(trials[*trial].values[option]);
      val.push_back(mean_val(trials[*trial]));
      is_best.push_back(*trial == order[0]);
    }
    const Places places = places_of(names[option], values);
    charts.emplace_back(names[option],
                        svg::scatter(places.axes, places.x, val, is_best, {"trial", "best trial"}));
  }
  return svg::stacked(charts);
}

}  // namespace rodeo
