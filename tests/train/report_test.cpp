// Charts, and what a report computes.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <regex>
#include <string>
#include <utility>

#include "datasets/synthetic_graphs.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny.h"
#include "train/commands/recorder.h"
#include "train/io/atomic_file.h"
#include "train/report/analysis.h"
#include "train/report/page.h"
#include "train/report/svg.h"
#include "train/task/model_registry.h"
#include "train/task/node_model.h"

namespace rodeo {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::size_t count(const std::string& text, std::string_view what) {
  std::size_t n = 0;
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at) ++n;
  return n;
}

class TrainReport : public test::OnDevice {};
RODEO_ON_ALL_DEVICES(TrainReport);

// What is drawn of the predictions of each kind of task.
TEST_P(TrainReport, PredictionsOfOtherTasks) {
  const test::TempDir dir;
  const auto page = [&](Dataset data, TaskKind task) {
    TrainOptions options = published_options(task == TaskKind::kGraph ? "gin" : "gcn", task);
    options.epochs = 3, options.fold = 0, options.folds = 3;
    options.report = dir / "task.html";
    const NodeRun run = make_run(std::move(data), options, device());
    Recorder recorder(options);
    Trainer trainer = make_trainer(run, trainer_options(options));
    recorder.start(run, trainer, "here");
    recorder.finish(trainer.fit([&](const EpochReport& report) { recorder.epoch(report); }));
    return read_file(options.report, 1 << 24);
  };
  Dataset numbers = test::tiny_dataset(80), labels = numbers;
  numbers.y = test::random_tensor({80, 1}, DType::kF32, kCpu, 3);
  numbers.num_classes = 1;
  numbers.class_names = {"size in m"};
  numbers.src = numbers.src.slice(0, numbers.num_edges() - 1);
  numbers.dst = numbers.dst.slice(0, numbers.src.numel());
  labels.y = Tensor::zeros({80, 3}, DType::kU8);
  for (std::int64_t i = 0; i < 80; ++i) labels.y.data<std::uint8_t>()[3 * i + i % 3] = 1;
  labels.num_classes = 3;
  const std::pair<std::string, std::string> cases[] = {
      {page(numbers, TaskKind::kNode), "<h2>Predicted and true</h2>"},
      {page(labels, TaskKind::kNode), "<h2>Scores by class</h2>"},
      {page(test::tiny_dataset(80), TaskKind::kLink),
       "<h2>Test pairs</h2>\n<table>\n<tr><th scope=\"row\">AUC"},
      {page(synthesize_graphs({.graphs = 30}), TaskKind::kGraph), "<h2>Test graphs by class</h2>"}};
  for (const auto& [text, part] : cases) {
    EXPECT_NE(text.find(part), std::string::npos) << part;
    EXPECT_TRUE(text.ends_with("</html>\n"));
  }
  EXPECT_NE(cases[0].first.find("<p class=\"warning\">the graph is not symmetric: 1 of "), std::string::npos);
  EXPECT_EQ(count(cases[0].first, ">size in m</text>"), 1u);
  EXPECT_EQ(count(cases[1].first, "<th>class</th><th>nodes</th>"), 1u);
  EXPECT_EQ(count(cases[3].first, "<th>class</th><th>graphs</th>"), 1u);
}

TEST(TrainReportPage, OptionsAreNotBroken) {
  EXPECT_EQ(prose("a larger --lr, or --normalize-features <x>"),
            "a larger <span class=\"option\">--lr</span>, or "
            "<span class=\"option\">--normalize-features</span> &lt;x&gt;");
  EXPECT_EQ(prose("1e-05 +- 2"), "1e-05 +- 2");
  EXPECT_EQ(prose("--"), "<span class=\"option\">--</span>");
}

TEST(TrainSvg, StackedChartsKeepTheirHeight) {
  const std::string bars = svg::bars("times", {{"a", 1, ""}, {"b", 2, ""}});
  ASSERT_EQ(count(bars, "class=\"chart\""), 1u);
  const std::string all = svg::stacked({{"first", bars}, {"second", bars}});
  EXPECT_EQ(count(all, "<svg "), 3u);
  EXPECT_EQ(count(all, "class=\"chart\""), 1u) << "an inner chart with this class fills the outer one";
}

TEST(TrainSvg, TicksAreRound) {
  EXPECT_EQ(svg::ticks(0, 10, 5), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(svg::ticks(-3, 7, 4), (std::vector<double>{0, 5}));
  EXPECT_EQ(svg::ticks(1, 1, 4), std::vector<double>{1});
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

TEST(TrainSvg, TicksStandWhereDataAre) {
  const std::string chart = svg::lines({.log_x = true, .log_y = true, .x_ticks = {16, 17, 41, 602}},
                                       {{"a", {16, 17, 41, 602}, {1.1, 1.2, 1.4, 1.9}}});
  for (const char* tick :
       {">16</text>", ">41</text>", ">602</text>", ">1.2</text>", ">1.4</text>", ">1.8</text>"})
    EXPECT_EQ(count(chart, tick), 1u) << tick;
  for (const char* none : {">17</text>", ">20</text>", ">100</text>"})
    EXPECT_EQ(count(chart, none), 0u) << none;
}

// Powers of ten; below two decades 2 and 5 of each, too, and below a factor of 5 round values.
TEST(TrainSvg, TicksOfLogarithmicAxes) {
  const auto ticks_of = [](double low, double high) {
    const std::string chart = svg::lines({.log_y = true, .x_ticks = {-1}}, {{"", {0, 1}, {low, high}}});
    std::string found;
    for (const char* tick : {"0.5", "1", "2", "5", "10", "15", "20", "50", "100", "200"})
      if (count(chart, str(">", tick, "</text>")) > 0) found += str(tick, " ");
    return found;
  };
  EXPECT_EQ(ticks_of(1, 100), "1 10 100 ");
  EXPECT_EQ(ticks_of(1, 99), "1 2 5 10 20 50 ");
  EXPECT_EQ(ticks_of(2, 100), "2 5 10 20 50 100 ");
  EXPECT_EQ(ticks_of(10, 20), "10 20 ");
  EXPECT_EQ(ticks_of(10, 10), "5 10 15 20 ") << "one value: half and twice of it";
}

TEST(TrainSvg, AMarkIsNamed) {
  const std::vector<svg::Series> series = {{"a", {1, 2, 3}, {1, 2, 3}}};
  const std::string chart = svg::lines({.mark = 2, .mark_text = "best epoch 2"}, series);
  EXPECT_EQ(count(chart, "class=\"mark\""), 1u);
  EXPECT_EQ(count(chart, ">best epoch 2</text>"), 1u);
  EXPECT_EQ(count(svg::lines({}, series), "class=\"mark\""), 0u);
  EXPECT_EQ(count(svg::lines({.mark = 9}, series), "class=\"mark\""), 0u);
}

TEST(TrainSvg, AScatterPlotNamesItsClasses) {
  const std::string chart = svg::scatter({}, {1, 2}, {1, 2}, {0, 2}, {"0", "1 (<cat>)", "2"});
  for (const char* name : {">0</text>", ">1 (&lt;cat&gt;)</text>", ">2</text>"})
    EXPECT_GE(count(chart, name), 1u) << name;
  EXPECT_EQ(count(chart, "r=\"5\""), 3u);
  EXPECT_NE(chart.find("viewBox=\"0 0 480 298\""), std::string::npos) << "one line of names";
  const std::regex legend("<circle [^>]* cx=\"([0-9.]+)\" [^>]* r=\"5\"/>\n<text x=\"([0-9.]+)\"");
  std::smatch found;
  ASSERT_TRUE(std::regex_search(chart, found, legend));
  EXPECT_EQ(std::stod(found[2]), std::stod(found[1]) + 9) << "a name is to the right of its dot";
  EXPECT_EQ(count(chart, "class=\"mark\""), 0u);
}

TEST(TrainSvg, AScatterPlotHasADiagonal) {
  const auto chart = [](std::vector<double> y) {
    return svg::scatter({.diagonal = true}, {0, 10}, y, {0, 0}, {"a"});
  };
  // Both axes are from -0.4 to 10.4: from corner to corner.
  EXPECT_EQ(count(chart({0, 10}), "<path class=\"mark\" d=\"M62.0 236.0L466.0 26.0\"/>"), 1u);
  EXPECT_EQ(count(chart({20, 30}), "class=\"mark\""), 0u);  // x is y nowhere in the picture
}

TEST(TrainSvg, AHeatMapNamesItsRows) {
  const std::string chart =
      svg::heat_map({}, {5, 1, 2, 7}, {"0 (<cat>)", "1 (\u00e9l\u00e9phants of the northern savanna)"});
  EXPECT_EQ(count(chart, ">0 (&lt;cat&gt;)</text>"), 1u);
  EXPECT_EQ(count(chart, ">1 (\u00e9l\u00e9phants of the nort\u2026</text>"), 1u);  // 24 characters
  EXPECT_EQ(count(chart, ">1 of class 0 (&lt;cat&gt;) predicted as 1 ("), 1u);
  EXPECT_EQ(count(chart, ">1</text>"), 2u);  // the second column, and a count
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
