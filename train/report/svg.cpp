#include "train/report/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/quoting.h"

namespace rodeo::svg {
namespace {

// Narrow, so that texts are legible where a telephone shows the whole width.
constexpr double kWidth = 480, kHeight = 280;
constexpr double kLeft = 62, kRight = 14, kTop = 26, kBottom = 44;
constexpr int kColors = 8;  // of the style sheet

/// Maps values to coordinates.
struct Scale {
  double low, high, from, to;
  bool log = false;

  double operator()(double value) const {
    const double share = log ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
    return from + share * (to - from);
  }
};

bool drawable(double value, bool log) {
  return std::isfinite(value) && (!log || value > 0);
}

/// Range of the values, never empty.
Scale scale_of(double low, double high, double from, double to, bool log, bool from_zero) {
  if (!(low <= high)) low = high = 1;  // no values
  if (log) {
    if (low == high) low /= 2, high *= 2;
  } else {
    if (from_zero) low = std::min(low, 0.0), high = std::max(high, 0.0);
    if (low == high) low -= 0.5, high += 0.5;
    const double margin = 0.04 * (high - low);
    if (!from_zero || low < 0) low -= margin;
    high += margin;
  }
  return {low, high, from, to, log};
}

std::vector<double> ticks_of(const Scale& scale, int count) {
  if (!scale.log) return ticks(scale.low, scale.high, count);
  constexpr double kFew = 0.7;  // less than a factor of 5 has hardly a round value of a logarithmic axis
  std::vector<double> all;
  const double decades = std::log10(scale.high / scale.low);
  if (decades < kFew) return ticks(scale.low, scale.high, count);
  for (double power = std::floor(std::log10(scale.low)); power <= std::log10(scale.high); ++power)
    for (const double digit : {1.0, 2.0, 5.0})
      if (const double value = digit * std::pow(10, power);
          (digit == 1 || decades < 2) && value >= scale.low && value <= scale.high)
        all.push_back(value);
  return all;
}

std::string open(std::string_view title, double height, double width = kWidth) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:g} {1:g}\" width=\"{0:g}\" "
      "height=\"{1:g}\" "
      "role=\"img\" class=\"chart\"><title>{2}</title>\n",
      width, height, html_text(title));
}

std::string text(double x, double y, std::string_view anchor, std::string_view content,
                 std::string_view more = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y, anchor, more,
                     html_text(content));
}

constexpr std::size_t kLongestName = 24;  // characters of a name beside a chart
constexpr double kCharacter = 7;          // its mean width

/// The first characters of UTF-8 text, with an ellipsis where some are left out.
std::string shortened(const std::string& name) {
  std::size_t at = 0, characters = 0;
  while (at < name.size() && characters < kLongestName) {
    for (++at; at < name.size() && (static_cast<unsigned char>(name[at]) & 0xc0U) == 0x80U;) ++at;
    ++characters;
  }
  return at < name.size() ? name.substr(0, at) + "\u2026" : name;
}

double width_of(const std::vector<std::string>& names) {
  std::size_t longest = 0;
  for (const std::string& name : names) longest = std::max(longest, std::min(name.size(), kLongestName + 1));
  return kCharacter * static_cast<double>(longest);
}

/// The wanted ticks without those whose text would touch the one before; round values if none is wanted.
std::vector<double> x_ticks_of(const Axes& axes, const Scale& x) {
  if (axes.x_ticks.empty()) return ticks_of(x, 6);
  constexpr double kDistance = 34;
  std::vector<double> wanted = axes.x_ticks, kept;
  std::sort(wanted.begin(), wanted.end());
  for (const double tick : wanted)
    if (tick >= x.low && tick <= x.high && (kept.empty() || x(tick) - x(kept.back()) >= kDistance))
      kept.push_back(tick);
  return kept;
}

std::string mark_of(const Axes& axes, const Scale& x) {
  if (!std::isfinite(axes.mark) || axes.mark < x.low || axes.mark > x.high) return {};
  const double at = x(axes.mark);
  const bool left = at > (kLeft + kWidth - kRight) / 2;  // the text is on the side with more room
  return fmt::format("<path class=\"mark\" d=\"M{:.1f} {:.1f}V{:.1f}\"/>\n", at, kTop, kHeight - kBottom) +
         text(left ? at - 5 : at + 5, kTop + 12, left ? "end" : "start", axes.mark_text);
}

std::string axes_of(const Axes& axes, const Scale& x, const Scale& y) {
  std::string out;
  for (const double tick : ticks_of(y, 5)) {
    out +=
        fmt::format("<path class=\"grid\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>\n", kLeft, y(tick), kWidth - kRight);
    out += text(kLeft - 6, y(tick) + 4, "end", number(tick));
  }
  for (const double tick : x_ticks_of(axes, x)) {
    out +=
        fmt::format("<path class=\"grid\" d=\"M{:.1f} {:.1f}V{:.1f}\"/>\n", x(tick), kTop, kHeight - kBottom);
    out += text(x(tick), kHeight - kBottom + 16, "middle", number(tick));
  }
  out += text((kLeft + kWidth - kRight) / 2, kHeight - 8, "middle", axes.x);
  out += text(14, (kTop + kHeight - kBottom) / 2, "middle", axes.y,
              fmt::format(" transform=\"rotate(-90 14 {:.1f})\"", (kTop + kHeight - kBottom) / 2));
  return out;
}

struct Point {
  double x, y;
};

// Keeps the lowest and the highest point of each stretch.
std::vector<Point> thin_out(const std::vector<Point>& points) {
  constexpr std::size_t kStretches = 400;
  if (points.size() <= 2 * kStretches) return points;
  std::vector<Point> kept;
  for (std::size_t i = 0; i < kStretches; ++i) {
    const auto begin = points.begin() + static_cast<std::ptrdiff_t>(i * points.size() / kStretches);
    const auto end = points.begin() + static_cast<std::ptrdiff_t>((i + 1) * points.size() / kStretches);
    auto [low, high] =
        std::minmax_element(begin, end, [](const Point& a, const Point& b) { return a.y < b.y; });
    if (high < low) std::swap(low, high);
    kept.push_back(*low);
    if (high != low) kept.push_back(*high);
  }
  return kept;
}

struct Range {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

}  // namespace

std::string number(double value) {
  return fmt::format("{:.4g}", value == 0 ? 0.0 : value);
}

std::vector<double> ticks(double low, double high, int count) {
  const double rough = (high - low) / count;
  if (!(rough > 0) || !std::isfinite(rough)) return {low};
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double digit : {5.0, 2.0, 1.0})
    if (digit * power >= rough) step = digit * power;
  std::vector<double> all;
  const double first = std::ceil(low / step);
  for (int i = 0; (first + i) * step <= high * (1 + 1e-12) + 1e-300 && i < 100; ++i)
    all.push_back((first + i) * step);
  return all;
}

std::string lines(const Axes& axes, const std::vector<Series>& series) {
  std::vector<std::vector<Point>> all;
  Range xs, ys;
  for (const Series& s : series) {
    all.emplace_back();
    for (std::size_t i = 0; i < std::min(s.x.size(), s.y.size()); ++i) {
      if (!drawable(s.x[i], axes.log_x) || !drawable(s.y[i], axes.log_y)) continue;
      all.back().push_back({s.x[i], s.y[i]});
      xs.add(s.x[i]);
      ys.add(s.y[i]);
    }
  }
  const Scale x = scale_of(xs.low, xs.high, kLeft, kWidth - kRight, axes.log_x, false);
  const Scale y = scale_of(ys.low, ys.high, kHeight - kBottom, kTop, axes.log_y, axes.from_zero);
  std::string out = open(axes.title, kHeight) + axes_of(axes, x, y);
  double legend = kLeft;
  for (std::size_t i = 0; i < series.size(); ++i) {
    const auto color = i % kColors;
    std::string path;
    for (const Point& point : thin_out(all[i])) {
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x(point.x), y(point.y));
      if (series[i].dots)
        out += fmt::format("<circle class=\"f{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\"/>\n", color,
                           x(point.x), y(point.y));
    }
    if (!path.empty()) out += fmt::format("<path class=\"line s{}\" d=\"{}\"/>\n", color, path);
    out += fmt::format("<path class=\"line s{}\" d=\"M{:.1f} 12h16\"/>\n", color, legend);
    out += text(legend + 20, 16, "start", series[i].name);
    legend += 40 + kCharacter * static_cast<double>(series[i].name.size());
  }
  return out + mark_of(axes, x) + "</svg>\n";
}

std::string bars(std::string_view title, const std::vector<Bar>& bars) {
  constexpr double kRow = 24, kLabels = 150, kTexts = 110;
  double most = 0;
  for (const Bar& bar : bars)
    if (std::isfinite(bar.value)) most = std::max(most, bar.value);
  std::string out = open(title, kRow * static_cast<double>(bars.size()) + 8);
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const double y = kRow * static_cast<double>(i) + 4;
    const double share = most > 0 && std::isfinite(bars[i].value) ? std::max(bars[i].value, 0.0) / most : 0;
    const double length = share * (kWidth - kLabels - kTexts);
    out += text(kLabels - 8, y + 15, "end", bars[i].label);
    out += fmt::format("<rect class=\"f0\" x=\"{:g}\" y=\"{:g}\" width=\"{:.1f}\" height=\"{:g}\"/>\n",
                       kLabels, y + 3, length, kRow - 6);
    out += text(kLabels + length + 6, y + 15, "start", bars[i].text);
  }
  return out + "</svg>\n";
}

std::string scatter(const Axes& axes, const std::vector<double>& x, const std::vector<double>& y,
                    const std::vector<std::int64_t>& class_of, const std::vector<std::string>& names) {
  Range xs, ys;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (drawable(x[i], false) && drawable(y[i], false)) xs.add(x[i]), ys.add(y[i]);
  const Scale across = scale_of(xs.low, xs.high, kLeft, kWidth - kRight, false, false);
  const Scale up = scale_of(ys.low, ys.high, kHeight - kBottom, kTop, false, false);
  constexpr std::int64_t kMostInLegend = 52;
  constexpr double kLeast = 44, kDot = 26, kLine = 18;
  const auto classes = static_cast<std::int64_t>(names.size());
  const std::int64_t named = classes <= kMostInLegend ? classes : 0;
  const double item = std::max(kLeast, kDot + width_of(names));
  const auto in_row = static_cast<std::int64_t>((kWidth - kLeft) / item);
  const double rows = static_cast<double>((named + in_row - 1) / in_row);
  std::string out = open(axes.title, kHeight + kLine * rows) + axes_of(axes, across, up);
  if (const double low = std::max(across.low, up.low), high = std::min(across.high, up.high);
      axes.diagonal && low < high)
    out += fmt::format("<path class=\"mark\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\"/>\n", across(low), up(low),
                       across(high), up(high));
  // More classes than the style sheet has colours take hues of their own.
  const auto color = [&](std::int64_t c) {
    return classes <= kColors
               ? fmt::format("class=\"f{} dot\"", c)
               : fmt::format("class=\"dot\" style=\"fill:hsl({},70%,50%)\"", c * 360 / classes);
  };
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!drawable(x[i], false) || !drawable(y[i], false)) continue;
    out += fmt::format("<circle {} cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2\"/>\n", color(class_of[i]), across(x[i]),
                       up(y[i]));
  }
  for (std::int64_t c = 0; c < named; ++c) {
    const double left = kLeft + item * static_cast<double>(c % in_row);
    const double top = kHeight + kLine * static_cast<double>(c / in_row) + 8;
    out += fmt::format("<circle {} cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\"/>\n", color(c), left, top);
    out += text(left + 9, top + 4, "start", shortened(names[static_cast<std::size_t>(c)]));
  }
  return out + "</svg>\n";
}

std::string heat_map(const Axes& axes, const std::vector<std::int64_t>& counts,
                     const std::vector<std::string>& names) {
  constexpr double kBesideNames = 36;  // the title of the rows
  constexpr std::size_t kMany = 9;     // classes whose cells need more room
  const std::size_t n = names.size();
  const double width = n > kMany ? 640 : kWidth;
  const double left = std::max(kLeft, kBesideNames + width_of(names)),
               side =
                   std::min(44.0, (width - left - kRight) / static_cast<double>(std::max<std::size_t>(n, 1)));
  const bool labels = side >= 14, values = side >= 26;
  const double height = kTop + side * static_cast<double>(n) + 34;
  std::string out = open(axes.title, height, width);
  for (std::size_t i = 0; i < n; ++i) {
    std::int64_t row = 0;
    for (std::size_t j = 0; j < n; ++j) row += counts[i * n + j];
    const double y = kTop + side * static_cast<double>(i);
    if (labels) out += text(left - 6, y + side / 2 + 4, "end", shortened(names[i]));
    for (std::size_t j = 0; j < n; ++j) {
      const std::int64_t count = counts[i * n + j];
      const double share = row > 0 ? static_cast<double>(count) / static_cast<double>(row) : 0;
      const double x = left + side * static_cast<double>(j);
      out += fmt::format(
          "<rect class=\"f0\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
          "fill-opacity=\"{:.3f}\">"
          "<title>{} of class {} predicted as {}</title></rect>\n",
          x, y, side - 1, side - 1, 0.04 + 0.8 * share, count, html_text(names[i]), html_text(names[j]));
      if (values) out += text(x + side / 2, y + side / 2 + 4, "middle", std::to_string(count));
    }
  }
  const std::size_t step = side < 18 ? 2 : 1;  // two digits need more room
  for (std::size_t j = 0; labels && j < n; j += step)
    out += text(left + side * (static_cast<double>(j) + 0.5), kTop - 6, "middle", std::to_string(j));
  out += text(left, height - 12, "start", axes.x);
  out += text(14, kTop + side * static_cast<double>(n) / 2, "middle", axes.y,
              fmt::format(" transform=\"rotate(-90 14 {:.1f})\"", kTop + side * static_cast<double>(n) / 2));
  return out + "</svg>\n";
}

std::string_view style() {
  return R"(:root{--fg:#1b1f24;--bg:#fff;--grid:#d8dee4;--c0:#0072b2;--c1:#d55e00;--c2:#009e73;--c3:#cc79a7;--c4:#b8860b;--c5:#56b4e9;--c6:#8a63d2;--c7:#7f7f7f}
@media (prefers-color-scheme:dark){:root{--fg:#e6edf3;--bg:#0d1117;--grid:#30363d;--c0:#4aa8e0;--c1:#ff8a3d;--c2:#2fc79c;--c3:#e09bc4;--c4:#e3b341;--c5:#8fd3ff;--c6:#b594f5;--c7:#a0a0a0}}
.chart{max-width:100%;height:auto;font:13px system-ui,sans-serif;color:var(--fg)}
.chart text{fill:var(--fg)}.grid{stroke:var(--grid);fill:none}.line{fill:none;stroke-width:1.6}.mark{stroke:var(--fg);stroke-dasharray:3 3;opacity:.6}.dot{fill-opacity:.65}
.s0{stroke:var(--c0)}.s1{stroke:var(--c1)}.s2{stroke:var(--c2)}.s3{stroke:var(--c3)}.s4{stroke:var(--c4)}.s5{stroke:var(--c5)}.s6{stroke:var(--c6)}.s7{stroke:var(--c7)}
.f0{fill:var(--c0)}.f1{fill:var(--c1)}.f2{fill:var(--c2)}.f3{fill:var(--c3)}.f4{fill:var(--c4)}.f5{fill:var(--c5)}.f6{fill:var(--c6)}.f7{fill:var(--c7)}
)";
}

std::string standalone(const std::string& chart) {
  const std::size_t after_title = chart.find("</title>") + 8;
  return fmt::format("{}<style>{}svg{{background:var(--bg)}}</style>{}", chart.substr(0, after_title),
                     style(), chart.substr(after_title));
}

std::string stacked(const std::vector<std::pair<std::string, std::string>>& charts) {
  constexpr double kHeading = 28, kStep = kHeading + kHeight + 16;
  std::string out = open("Charts", kStep * static_cast<double>(charts.size()));
  for (std::size_t i = 0; i < charts.size(); ++i) {
    const double y = kStep * static_cast<double>(i);
    // The style of the class has a height of `auto`, which would stretch an inner chart over the whole
    // picture.
    constexpr std::string_view kClass = " class=\"chart\"";
    std::string chart = charts[i].second;
    if (const std::size_t at = chart.find(kClass); at != chart.npos) chart.erase(at, kClass.size());
    out += text(kLeft, y + 20, "start", charts[i].first, " font-weight=\"bold\"");
    out += fmt::format("<g transform=\"translate(0 {:g})\">{}</g>\n", y + kHeading, chart);
  }
  return standalone(out + "</svg>\n");
}

}  // namespace rodeo::svg
