// Charts, and what a report computes.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/devices.h"
#include "tests/support/near.h"
#include "train/report/analysis.h"
#include "train/report/svg.h"

namespace rodeo {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::size_t count(const std::string& text, std::string_view what) {
  std::size_t n = 0;
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at) ++n;
  return n;
}

TEST(TrainSvg, TicksAreRound) {
  EXPECT_EQ(svg::ticks(0, 10, 5), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(svg::ticks(-3, 7, 4), (std::vector<double>{0, 5}));
  EXPECT_EQ(svg::ticks(1, 1, 4), std::vector<double>{1});
}

TEST(TrainSvg, TextIsEscaped) {
  EXPECT_EQ(svg::escape("<a b=\"c\">&'"), "&lt;a b=&quot;c&quot;&gt;&amp;&#39;");
  EXPECT_EQ(svg::escape("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\x8e"), "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\x8e");
  EXPECT_EQ(svg::escape("\xc3(\xff\x01\xe2\x82"), "?(????");
}

TEST(TrainSvg, LinesLeaveOutWhatCannotBeDrawn) {
  const std::string chart = svg::lines({.title = "t<", .x = "x", .y = "y", .log_y = true},
                                       {{"a", {1, 2, 3, 4}, {1, kNan, -5, 100}, true}, {"none", {}, {}}});
  EXPECT_EQ(count(chart, "<circle"), 2u);
  EXPECT_EQ(count(chart, "nan"), 0u);
  EXPECT_EQ(count(chart, "inf"), 0u);
  EXPECT_NE(chart.find("<title>t&lt;</title>"), std::string::npos);
  EXPECT_NE(svg::lines({}, {}).find("</svg>"), std::string::npos);
}

TEST(TrainSvg, ManyPointsAreThinnedOutButThePeak) {
  svg::Series s{"a", {}, {}, true};
  for (int i = 0; i < 100'000; ++i) {
    s.x.push_back(i);
    s.y.push_back(i == 50'123 ? 9 : std::sin(i));
  }
  const std::string chart = svg::lines({}, {s});
  EXPECT_LE(count(chart, "<circle"), 800u);
  s.y[50'123] = 0;
  EXPECT_NE(chart, svg::lines({}, {s}));
}

TEST(TrainSvg, AStandaloneChartHasItsStyle) {
  const std::string chart = svg::standalone(svg::bars("b", {{"x", 2, "2"}, {"y", kNan, "?"}}));
  EXPECT_EQ(count(chart, "<style>"), 1u);
  EXPECT_NE(chart.find("prefers-color-scheme"), std::string::npos);
  EXPECT_EQ(count(chart, "<rect"), 2u);
  EXPECT_EQ(count(chart, "nan"), 0u);
}

TEST(TrainAnalysis, ConfusionCountsPairs) {
  EXPECT_EQ(confusion({0, 1, 1, 0}, {0, 0, 1, -1}, {0, 1, 2, 3}, 2), (std::vector<std::int64_t>{1, 1, 0, 1}));
  EXPECT_EQ(confusion({}, {}, {}, 2), (std::vector<std::int64_t>(4)));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(largest_columns(Tensor::from(std::vector<float>{1, 3, 3, nan, -1, -2}, {2, 3})),
            (std::vector<std::int64_t>{1, 1}));
}

// Points on a known plane in 5 dimensions.
TEST(TrainAnalysis, ThePlaneOfLargestVarianceIsFound) {
  std::vector<double> rows, along;
  for (int i = 0; i < 100; ++i) {
    const double a = 10 * std::sin(i), b = std::cos(3.1 * i);
    along.push_back(a);
    for (const double value : {0.6 * a + 5, 0.8 * a, b, 0.0, 1.0}) rows.push_back(value);
  }
  const Plane plane = principal_plane(Tensor::from(rows, {100, 5}));
  double mean = 0;
  for (const double a : along) mean += a / 100;
  for (int i = 0; i < 100; ++i) EXPECT_NEAR(plane.x[i], along[i] - mean, 0.1);
  EXPECT_GT(plane.share_x, 0.9);
  EXPECT_NEAR(plane.share_x + plane.share_y, 1, 1e-9);
  for (const Shape& shape : {Shape{0, 3}, Shape{4, 1}, Shape{1, 4}}) {
    const Plane degenerate = principal_plane(Tensor::zeros(shape));
    ASSERT_EQ(static_cast<std::int64_t>(degenerate.y.size()), shape[0]);
    for (const double y : degenerate.y) EXPECT_EQ(y, 0);
  }
}

TEST(TrainAnalysis, DegreesAreCountedByDoublingRanges) {
  using Ranges = std::vector<std::pair<std::int64_t, std::int64_t>>;
  EXPECT_EQ(degree_histogram(Tensor::from(std::vector<std::int64_t>{0, 0, 1, 3, 6, 10})),
            (Ranges{{0, 1}, {1, 1}, {2, 2}, {4, 1}}));
  EXPECT_EQ(degree_histogram(Tensor::from(std::vector<std::int64_t>{0})), Ranges{});
}

}  // namespace
}  // namespace rodeo
