// What the report and the header of a run say, with numbers written down here.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <new>

#include "tests/support/devices.h"
#include "tests/support/near.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny.h"
#include "train/commands/console_run.h"
#include "train/commands/run_command.h"
#include "train/io/atomic_file.h"
#include "train/nan_watch.h"
#include "train/report/class_report.h"
#include "train/report/report.h"
#include "train/report/svg.h"
#include "train/task/model_registry.h"
#include "train/task/node_model.h"

namespace rodeo::test {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++found;
  return found;
}

/// A page of three epochs, the second of which is the best one and profiled.
struct TrainReportFacts : testing::Test {
  TrainReportFacts() : run(make_run(tiny_dataset(60), options_of(), kCpu)) {
    for (const int epoch : {1, 2, 3}) {
      EpochReport r;
      r.epoch = epoch, r.epochs = 3, r.loss = 2. / epoch, r.ms = 10. * epoch;
      r.evaluation = Evaluation{.train = 0.9, .val = 0.5, .test = 0.25, .val_loss = 1};
      if (epoch == 2) r.parts = {.sparse = 1, .gemm = 2, .other = 3, .communication = 0};
      history.push_back(r);
    }
    summary.epochs = 3, summary.best_epoch = 2;
    summary.best = {.train = 0.9, .val = 0.5, .test = 0.25, .val_loss = 1};
    summary.last = {.train = 0.9, .val = 0.5, .test = 0.125, .val_loss = 1};
    summary.epoch_ms = {.count = 7, .median = 1.5, .mean = 2, .p95 = 4};
    summary.evaluation_ms = {.count = 3, .median = 0.5, .mean = 1, .p95 = 1};
    summary.peak_bytes = 3 << 20;
    facts = {.device = "cpu (mine)", .model = "GCN <2>", .algorithms = "spmm auto", .parameters = 77};
    facts.data_bytes = 2 << 20;
  }
  static TrainOptions options_of() {
    TrainOptions options = published_options("gcn");
    options.hidden = 5;
    return options;
  }
  std::string page(const std::vector<double>& memory = {}) const {
    return make_report(options_of(), run, facts, history, summary, 2, memory);
  }
  static std::string row(const char* name, const std::string& value) {
    return str("<tr><th scope=\"row\">", name, "</th><td>", value, "</td></tr>\n");
  }

  NodeRun run;
  std::vector<EpochReport> history;
  TrainSummary summary;
  RunFacts facts;
};

TEST_F(TrainReportFacts, HeadlineAndRowsOfTheRun) {
  run.task.warnings = {"a --warning <w>"};
  run.task.convert_peak_bytes = 1 << 20;
  const std::string text = page();
  for (const std::string& part :
       {std::string("<title>gcn on cora-like</title>"),
        std::string("<h1>gcn on cora-like</h1>"),
        std::string("<p><b>25.00 %</b></p>\n<p>test accuracy at the best validation epoch, 2 (validation "
                    "50.00 %)</p>"),
        std::string("<p class=\"note\">12.50 % after the last epoch, 3</p>"),
        std::string("<p class=\"warning\">a <span class=\"option\">--warning</span> &lt;w&gt;</p>"),
        row("split", "30 train, 15 val, 15 test nodes"),
        row("epoch", "1.500 ms median, 4.000 ms p95 of 7"),
        row("evaluation", "0.500 ms"),
        row("model", "GCN &lt;2&gt;: 77 parameters"),
        row("order of nodes", "the file&#39;s"),
        row("dataset", "cora-like: 60 nodes, 240 edges, 30 features, 7 classes"),
        row("device", "cpu (mine)"),
        std::string(">1.00 MiB</text>"),
        std::string(">2.00 MiB</text>"),
        std::string(">3.00 MiB</text>"),
        std::string("<pre>spmm auto\n"),
        std::string("Bold: differs from the model&#39;s defaults."),
        std::string("<tr class=\"changed\"><th scope=\"row\">hidden</th><td>5</td></tr>"),
        std::string("<tr><th scope=\"row\">epochs</th><td>200</td></tr>"),
        std::string(
            "<p class=\"note\">After the best epoch, 2. A row is a class, coloured by shares of it.</p>"),
        std::string("<p class=\"note\">Test nodes, after the best epoch, 2.</p>"),
        std::string(
            "The model&#39;s output for 60 of 60 nodes after the best epoch, 2, by its two principal"),
        std::string(">best epoch 2</text>"),
        std::string("in the graph that the model reads, by the number of nodes.")})
    EXPECT_NE(text.find(part), std::string::npos) << part;
  EXPECT_EQ(count(text, ">best epoch 2</text>"), 2u) << "of losses and accuracies";
  EXPECT_EQ(count(text, "of the test nodes are of the largest class"), 1u);
  EXPECT_EQ(count(text, "Memory over a step"), 0u);
  EXPECT_EQ(count(text, "Mini-batches"), 0u);
  EXPECT_EQ(count(text, ">communication</text>"), 0u);
  EXPECT_TRUE(text.ends_with("</main></body></html>\n"));
}

TEST_F(TrainReportFacts, PartsThatOnlySomeRunsHave) {
  history[1].parts->communication = 4;
  summary.batches = BatchTotals{.batches = 4, .edges = 83, .nodes = 42};
  run.task.reorder = "by degree";
  std::string text = page({1 << 20, 3 << 20});
  EXPECT_GE(count(text, ">communication</text>"), 1u);
  EXPECT_NE(text.find("4 an epoch, with 20 edges and 10 nodes each. Sampling, "), std::string::npos);
  EXPECT_EQ(count(text, ">sampling</text>"), 0u);
  EXPECT_NE(text.find(row("order of nodes", "by degree")), std::string::npos);
  EXPECT_EQ(count(text, "<h2>Memory over a step</h2>"), 1u);
  summary.batches->sample_ms = 1, summary.batches->gather_ms = 2, summary.batches->train_ms = 5;
  summary.wait_ms = summarize({0.25});
  text = page();
  for (const char* part : {">sampling</text>", ">1.000 ms</text>", ">gathering</text>", ">2.000 ms</text>",
                           ">training</text>", ">5.000 ms</text>", ">waiting</text>", ">0.250 ms</text>"})
    EXPECT_GE(count(text, part), 1u) << part;
  summary.batches->batches = 0;
  EXPECT_EQ(count(page(), "Mini-batches"), 0u);
}

TEST_F(TrainReportFacts, ScoresAreThoseOfTheTestNodes) {
  const NodeOutputs outputs = outputs_of(run);
  EXPECT_EQ(outputs.logits.shape(), (Shape{60, 7}));
  EXPECT_EQ(outputs.test.size(), 15u);
  const ClassReport report = report_classes(outputs.logits, outputs.label, outputs.test, {});
  const std::string text = page();
  std::int64_t nodes = 0;
  for (std::size_t c = 0; c < 7; ++c) {
    const ClassScore& of = report.classes[c];
    nodes += of.nodes;
    const auto share = [](double value) { return std::isfinite(value) ? fmt::format("{:.3f}", value) : "-"; };
    EXPECT_NE(text.find(fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n", c,
                                    of.nodes, share(of.precision), share(of.recall), share(of.f1))),
              std::string::npos)
        << c;
  }
  EXPECT_EQ(nodes, 15);
  EXPECT_NE(text.find(fmt::format("Macro F1 (mean over the classes): {:.4f}</p>", report.macro.f1)),
            std::string::npos);
  EXPECT_TRUE(run.model.module->training()) << "as it was before";
}

TEST(TrainSvg, BarsAreAsLongAsTheirShare) {
  const std::string bars = svg::bars("b", {{"one", 5, "five"},
                                           {"two", 10, "ten"},
                                           {"three", -1, "none"},
                                           {"four", std::numeric_limits<double>::quiet_NaN(), "nothing"}});
  std::vector<double> widths;
  for (std::size_t at = 0; (at = bars.find("<rect class=\"f0\"", at)) != std::string::npos; ++at)
    widths.push_back(std::stod(bars.substr(bars.find("width=\"", at) + 7)));
  ASSERT_EQ(widths.size(), 4u);
  EXPECT_GT(widths[1], 100);
  EXPECT_NEAR(widths[0], widths[1] / 2, 0.1);
  EXPECT_EQ(widths[2], 0);
  EXPECT_EQ(widths[3], 0);
  for (const char* text : {">one</text>", ">five</text>", ">nothing</text>"})
    EXPECT_EQ(count(bars, text), 1u);
}

// Names take 7 a character beside a heat map, at most 25 of them; cells are squares of 44.
TEST(TrainSvg, CellsStandBesideTheirNames) {
  const auto first = [](std::size_t characters) {
    const std::string map = svg::heat_map({}, {5, 1, 2, 7}, {"a", std::string(characters, 'b')});
    EXPECT_EQ(count(map, " width=\"43.0\" height=\"43.0\" "), 4u);
    EXPECT_EQ(count(map, " y=\"70.0\" width="), 2u) << "the second row";
    return std::stod(map.substr(map.find("<rect class=\"f0\" x=\"") + 20));
  };
  EXPECT_EQ(first(3), 62);
  EXPECT_EQ(first(4), 64);
  EXPECT_EQ(first(24), 36 + 7 * 24);
  EXPECT_EQ(first(25), 36 + 7 * 25);
  EXPECT_EQ(first(30), 36 + 7 * 25);
  const std::string map = svg::heat_map({}, {3, 1, 0, 0}, {"a", "b"});
  EXPECT_EQ(count(map, "fill-opacity=\"0.640\""), 1u) << "0.04 + 0.8 * 3 / 4";
  EXPECT_EQ(count(map, "fill-opacity=\"0.240\""), 1u);
  EXPECT_EQ(count(map, "fill-opacity=\"0.040\""), 2u) << "a row without counts";
}

// Both axes are from -0.4 to 10.4, and from 62 to 466 and from 236 to 26 in the picture.
TEST(TrainSvg, DotsStandWhereTheirNumbersAre) {
  const std::string chart = svg::scatter({}, {0, 10}, {10, 0}, {0, 1}, {"a", "b"});
  EXPECT_EQ(count(chart, " cx=\"77.0\" cy=\"33.8\""), 1u) << chart;
  EXPECT_EQ(count(chart, " cx=\"451.0\" cy=\"228.2\""), 1u) << chart;
  const std::string both = svg::stacked({{"one", chart}, {"two", chart}});
  for (const char* part : {"<g transform=\"translate(0 28)\">", "<g transform=\"translate(0 352)\">",
                           ">one</text>", ">two</text>"})
    EXPECT_EQ(count(both, part), 1u) << part;
}

TEST_F(TrainReportFacts, TheCurveOfAStepHasAPointForEachKernel) {
  const std::string text = page({1 << 20, 3 << 20, 2 << 20});
  const std::size_t at = text.find("<h2>Memory over a step</h2>"), end = text.find("</section>", at);
  const std::string curve = text.substr(at, end - at), line = "class=\"line s0\" d=\"";
  ASSERT_EQ(count(curve, line), 2u) << "and one of the legend";
  const std::size_t from = curve.find(line) + line.size();
  const std::string path = curve.substr(from, curve.find('"', from) - from);
  EXPECT_EQ(count(path, "M") + count(path, "L"), 3u) << path;
  EXPECT_EQ(count(curve, ">3</text>"), 2u) << "3 MiB, and the third kernel: " << curve;
}

// The targets of other nodes are far away.
TEST(TrainReportNumbers, AreThoseOfTheTestNodes) {
  Dataset data = tiny_dataset(60);
  data.y = Tensor::full({60, 2}, -1e6), data.num_classes = 2;
  const std::vector<std::int64_t> test = data.split.test.to_vector<std::int64_t>();
  for (const std::int64_t node : test)
    data.y.data<float>()[2 * node] = 100, data.y.data<float>()[2 * node + 1] = 200;
  data.y.data<float>()[2 * test[0]] = std::numeric_limits<float>::quiet_NaN();
  const TrainOptions options = published_options("gcn");
  const NodeRun run = make_run(std::move(data), options, kCpu);
  TrainSummary summary;
  summary.epochs = summary.best_epoch = 1;
  const std::string text = make_report(options, run, {}, {EpochReport{}}, summary, 1, {});
  const std::size_t at = text.find("<h2>Predicted and true</h2>"), end = text.find("</section>", at);
  const std::string section = text.substr(at, end - at);
  for (const char* tick : {">100</text>", ">120</text>", ">180</text>", ">200</text>"})
    EXPECT_EQ(count(section, tick), 1u) << "the true values are all there is on their axis: " << section;
  EXPECT_EQ(count(section, " r=\"2\"/>"), 2 * test.size() - 1) << "one is not known";
  for (const char* part :
       {">target 0</text>", ">target 1</text>", "15 of 15 test nodes, after the best epoch, 1. "})
    EXPECT_EQ(count(section, part), 1u) << part;
}

std::string header(const NodeRun& run, const TrainOptions& options) {
  testing::internal::CaptureStdout();
  describe(Console(/*quiet=*/false), run, options, kCpu);
  std::fflush(stdout);
  return testing::internal::GetCapturedStdout();
}

TEST(TrainHeader, NamesDataAndModel) {
  TrainOptions options = published_options("gcn");
  NodeRun run = make_run(tiny_dataset(60), options, kCpu);
  std::string text = header(run, options);
  EXPECT_TRUE(
      text.starts_with("dataset         cora-like: 60 nodes, 240 edges, 30 features, 7 classes\n"
                       "split           30 train, 15 val, 15 test\nfeatures        "))
      << text;
  EXPECT_NE(text.find(fmt::format(": {} parameters\n", run.model.module->num_parameters())),
            std::string::npos);
  for (const char* none : {"\nplacement", "\nreorder", "\nwarning", "\nmetric", "\nranks"})
    EXPECT_EQ(text.find(none), std::string::npos) << none;
  run.task.warnings = {"one", "two"};
  run.task.reorder = "by degree", run.task.reorder_ms = 1.25;
  run.task.places = "here", run.task.metric = "MRR";
  options.aggregation = Aggregation::kRows;
  text = header(run, options);
  for (const char* line :
       {"\nplacement       here\n", "\nreorder         by degree, in 1.2 ms\n", "\nwarning         one\n",
        "\nwarning         two\n", "\nmetric          MRR, of train, val and test\n",
        "\nwarning         --aggregation rows says what several ranks exchange, and this is one: it has no "
        "effect\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;

  options = published_options("gcn", TaskKind::kLink);
  const NodeRun link = make_run(tiny_dataset(60), options, kCpu);
  text = header(link, options);
  EXPECT_EQ(text.find(fmt::format("dataset         cora-like: 60 nodes, {} message edges, 30 features\n",
                                  link.task.num_edges)),
            0u)
      << text;
  EXPECT_NE(text.find(fmt::format(" test {}\n", link.task.parts_of)), std::string::npos);
}

TEST(TrainHeader, ClassesAreOfTheBestEpochOrTheLast) {
  ClassReport report;
  TrainSummary summary;
  const auto text = [&] {
    testing::internal::CaptureStdout();
    Console(/*quiet=*/false).classes(report, summary);
    std::fflush(stdout);
    return testing::internal::GetCapturedStdout();
  };
  summary.epochs = 9;
  EXPECT_TRUE(text().starts_with("\ntest nodes by class, after the last epoch, 9\n"));
  summary.best_epoch = 4;
  EXPECT_TRUE(text().starts_with("\ntest nodes by class, after the best validation epoch, 4\n"));
}

TEST(TrainExitCodes, AreThoseOfTheHelp) {
  const auto code = [](const std::function<void()>& body) {
    testing::internal::CaptureStderr();
    const int exit = run_command("p", body);
    std::fflush(stderr);
    return str(exit, " ", testing::internal::GetCapturedStderr());
  };
  EXPECT_EQ(code([] {}), "0 ");
  EXPECT_EQ(code([] { throw Error("wrong\x1b"); }), "2 p: wrong\\x1b\n");
  EXPECT_EQ(code([] { throw NotFinite("nan"); }), "3 p: nan\n");
  EXPECT_EQ(code([] { throw OutOfMemory("full"); }), "4 p: full\n");
  EXPECT_EQ(code([] { throw std::bad_alloc(); }), "4 p: out of host memory\n");
  EXPECT_EQ(code([] { throw Interrupted{2}; }), "130 ");
  EXPECT_EQ(code([] { throw Interrupted{15}; }), "143 ");
}

TEST(TrainEvents, AnEpochHasItsSeries) {
  const TempDir dir;
  TrainOptions options = published_options("gcn");
  options.tensorboard = dir / "tb", options.epochs = 1;
  const NodeRun run = make_run(tiny_dataset(60), options, kCpu);
  {
    Recorder recorder(options);
    Trainer trainer = make_trainer(run, trainer_options(options));
    recorder.start(run, trainer, "here");
    recorder.finish(trainer.fit([&](const EpochReport& report) { recorder.epoch(report); }));
  }
  std::string all;
  for (const auto& file : std::filesystem::directory_iterator(options.tensorboard))
    all += read_file(file.path().string(), 1 << 20);
  for (const char* tag :
       {"loss/train", "loss/val", "time/epoch_ms", "accuracy/train", "accuracy/val", "accuracy/test"})
    EXPECT_EQ(count(all, tag), 1u) << tag;
}

}  // namespace
}  // namespace rodeo::test
