#include "train/commands/console.h"

#include <gtest/gtest.h>

#include <csignal>
#include <functional>
#include <limits>
#include <sstream>

#include "ops/convert.h"
#include "train/commands/device_text.h"
#include "train/report/spmm_choices.h"

namespace rodeo {
namespace {

TrainSummary summary() {
  TrainSummary s;
  s.epochs = 200;
  s.best_epoch = 87;
  s.best = {.train = 1, .val = 0.792, .test = 0.815, .val_loss = 0.7};
  s.last = {.train = 1, .val = 0.79, .test = 0.813, .val_loss = 0.7};
  s.warmup_ms = {12.5, 1.25, 1};
  s.epoch_ms = {.count = 177, .median = 0.8125, .mean = 0.9, .p95 = 1.5};
  s.evaluation_ms = {.count = 200, .median = 0.4, .mean = 0.4, .p95 = 0.4};
  s.parts = {summarize({0.25}), summarize({0.5}), summarize({0.25})};
  s.peak_bytes = 3 << 20;
  return s;
}

TEST(TrainConsole, ResultIsNamesAndValues) {
  NodeTask task;
  const std::string line = "test 0.8150 val 0.7920 epoch 87 final_test 0.8130 epochs 200 median_ms 0.812";
  EXPECT_EQ(format_result(task, summary()), line);
  task.majority = 0.8, task.majority_class = 0;
  EXPECT_EQ(format_result(task, summary()), line + " majority 0.8000");
}

TEST(TrainConsole, SummaryHasCommunicationOfSeveralRanks) {
  TrainSummary s = summary();
  EXPECT_EQ(format_summary(NodeTask(), s).find("communication"), std::string::npos);
  s.parts.communication = summarize({1});
  const std::string text = format_summary(NodeTask(), s);
  EXPECT_NE(text.find("communication     1.000 ms  50.0 %"), std::string::npos) << text;
  EXPECT_NE(text.find("GEMM              0.500 ms  25.0 %"), std::string::npos) << text;
}

TEST(TrainConsole, ResultHasNoNan) {
  TrainSummary s = summary();
  s.epoch_ms = {};  // no epoch after the warm-up
  s.best.val = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(format_result(NodeTask(), s), "test 0.8150 epoch 87 final_test 0.8130 epochs 200");
}

// Ctrl-C after some mini-batches of the first epoch.
TEST(TrainConsole, ResultOfNothingEvaluatedHasNoMetrics) {
  TrainSummary s;
  s.batch = 3;
  s.stopped = true;
  EXPECT_EQ(format_result(NodeTask(), s), "epochs 0");
  EXPECT_EQ(format_summary(NodeTask(), s).find("test accuracy"), std::string::npos);
}

TEST(TrainConsole, ProgressFitsTheTerminal) {
  EpochReport report;
  report.epoch = 10;
  report.epochs = 200;
  report.loss = 1.85328;
  report.ms = 0.8121;
  report.evaluation = report.best = {.train = 0.95, .val = 0.71, .test = 0.719, .val_loss = 1};
  report.best_epoch = 8;
  const std::string rate = "200 epochs/s, 1:05 left";
  EXPECT_EQ(format_progress(report, rate, 200), format_epoch(report) + "  " + rate);
  EXPECT_EQ(format_progress(report, "", 200), format_epoch(report));
  const std::string whole = format_epoch(report);
  EXPECT_EQ(format_progress(report, "", static_cast<int>(whole.size())), whole);
  EXPECT_EQ(format_progress(report, "", static_cast<int>(whole.size()) - 1),
            "epoch  10/200  loss 1.8533  train 0.9500  val 0.7100  test 0.7190  best val 0.7100 in epoch 8");
  EXPECT_EQ(format_progress(report, rate, 79),
            "epoch  10/200  loss 1.8533  val 0.7100  test 0.7190  200 epochs/s, 1:05 left");
  for (int width = 0; width < 150; ++width) {
    const std::string line = format_progress(report, rate, width);
    EXPECT_LE(static_cast<int>(line.size()), width);
    EXPECT_TRUE(width < 38 || line.ends_with("1:05 left")) << line;
  }
}

TEST(TrainConsole, RateAndTimeLeft) {
  EXPECT_EQ(format_rate(100, 0.5, 13000), "200 epochs/s, 1:05 left");
  EXPECT_EQ(format_rate(1, 2, 3725), "0.50 epochs/s, 2:04:10 left");
  EXPECT_EQ(format_rate(10, 1, 35990), "10 epochs/s, 59:59 left");
  EXPECT_EQ(format_rate(10, 1, 36000), "10 epochs/s, 1:00:00 left");
  EXPECT_EQ(format_rate(5, 1, 300), "5.00 epochs/s, 1:00 left");
  EXPECT_EQ(format_rate(5, 1, 299), "5.00 epochs/s, 0:59 left");
}

TEST(TrainConsole, EpochLineShowsWhatIsKnown) {
  EpochReport report;
  report.epoch = 7;
  report.epochs = 200;
  report.loss = 1.85328;
  report.ms = 0.8121;
  EXPECT_EQ(format_epoch(report), "epoch   7/200  loss 1.8533  0.812 ms");
  report.evaluation = report.best = {.train = 0.95, .val = 0.71, .test = 0.719, .val_loss = 1};
  report.best_epoch = 7;
  EXPECT_EQ(format_epoch(report),
            "epoch   7/200  loss 1.8533  train 0.9500  val 0.7100  test 0.7190  best val 0.7100 in epoch 7  "
            "0.812 ms");
}

TEST(TrainConsole, SummaryIsATable) {
  NodeTask task;
  task.load_ms = 23.46;
  task.convert_ms = 4;
  task.convert_peak_bytes = 5 << 20;
  const std::string table =
      "load                 23.5 ms\n"
      "convert               4.0 ms\n"
      "first epochs       12.500 ms     1.250 ms     1.000 ms\n"
      "epoch               0.812 ms median   0.900 mean   1.500 p95   (177 epochs)\n"
      "  sparse            0.250 ms  25.0 %\n"
      "  GEMM              0.500 ms  50.0 %\n"
      "  other             0.250 ms  25.0 %\n"
      "evaluation          0.400 ms median\n"
      "peak memory     3.00 MiB training, 5.00 MiB converting\n"
      "test accuracy   0.8150 at the best validation epoch, 87 (val 0.7920)\n"
      "                0.8130 after the last epoch, 200\n";
  EXPECT_EQ(format_summary(task, summary()), table);
  task.majority = 0.8, task.majority_class = 3;
  EXPECT_EQ(format_summary(task, summary()),
            table + "                0.8000 of the test nodes are of the largest class, 3\n");
}

TEST(TrainConsole, SummaryOfMiniBatches) {
  TrainSummary s;
  s.epochs = 2, s.batch = 1;
  s.batches = BatchTotals{.batches = 4, .edges = 83, .nodes = 42};
  NodeTask task;
  const std::string head = "load                  0.0 ms\nconvert               0.0 ms\n",
                    batches = "batches                 4 an epoch, with 20 edges and 10 nodes each\n",
                    memory = "peak memory     0 B training, 0 B converting\n";
  EXPECT_EQ(format_summary(task, s), head + batches + memory) << "stopped before an evaluation";
  s.batches->sample_ms = 1, s.batches->gather_ms = 2, s.batches->train_ms = 5;
  s.wait_ms = summarize({0.25});
  EXPECT_EQ(format_summary(task, s), head + batches +
                                         "  sampling          1.000 ms  12.5 %\n"
                                         "  gathering         2.000 ms  25.0 %\n"
                                         "  training          5.000 ms  62.5 %\n"
                                         "  waiting           0.250 ms of an epoch, for the next batch\n" +
                                         memory);
  s.batches->batches = 0;
  task.order = Tensor::zeros({1}), task.reorder_ms = 3;
  EXPECT_EQ(format_summary(task, s),
            "load                  0.0 ms\nreorder               3.0 ms\n"
            "convert               0.0 ms\n" +
                memory);
}

/// What the console prints where stdout is no terminal.
std::string printed(const std::function<void(Console&)>& print, bool quiet = false) {
  testing::internal::CaptureStdout();
  {
    Console console(quiet);
    print(console);
  }
  std::fflush(stdout);
  return testing::internal::GetCapturedStdout();
}

TEST(TrainConsole, FirstTenthAndLastEpochsHaveLines) {
  const auto epochs = [](int last, const char* run, bool quiet) {
    return printed(
        [&](Console& console) {
          EpochReport report;
          report.epochs = 25;
          for (report.epoch = 1; report.epoch <= last; ++report.epoch) console.epoch(report, run);
        },
        quiet);
  };
  std::istringstream lines(epochs(25, "", false));
  std::vector<std::string> begins;
  for (std::string line; std::getline(lines, line);) begins.push_back(line.substr(0, 12));
  EXPECT_EQ(begins,
            (std::vector<std::string>{"epoch  1/25 ", "epoch 10/25 ", "epoch 20/25 ", "epoch 25/25 "}));
  EXPECT_EQ(epochs(25, "", true), "");
  EXPECT_EQ(epochs(25, "seed 1 ", false), "") << "a line every ten seconds";
}

TEST(TrainConsole, ASignalIsNamedWithItsPlace) {
  TrainSummary s;
  s.epochs = 4;
  const auto text = [&](int signal) {
    return printed([&](Console& console) { console.interrupted(signal, s); });
  };
  EXPECT_EQ(text(SIGINT), "stopped         by Ctrl-C after epoch 4\n");
  EXPECT_EQ(text(SIGHUP), "stopped         by SIGHUP after epoch 4\n");
  s.batch = 1;
  EXPECT_EQ(text(SIGTERM), "stopped         by SIGTERM after batch 1 of epoch 5\n");
}

TEST(TrainConsole, FourDetailsAreInALineAndMoreHaveTheirOwn) {
  const auto tail = [](std::vector<std::pair<std::string, double>> details) {
    const std::string all = printed([&](Console& console) { console.finish({}, summary(), details); });
    const std::string without = "\n" + format_summary({}, summary());
    return all.starts_with(without) ? all.substr(without.size()) : all;
  };
  EXPECT_EQ(tail({}), "");
  EXPECT_EQ(tail({{"a", 0.5}, {"b", 0.25}, {"c", 1}, {"d", 0}}),
            "test            a 0.5000   b 0.2500   c 1.0000   d 0.0000\n");
  EXPECT_EQ(tail({{"a", 0.5}, {"b", 0.25}, {"c", 1}, {"d", 0}, {"e", 2}}),
            "test            a 0.5000   b 0.2500   c 1.0000   d 0.0000\n                e 2.0000\n");
  NodeTask task;
  task.metric = "MRR";
  EXPECT_EQ(printed(
                [&](Console& console) {
                  console.finish(task, summary(), {{"a", 0.5}});
                },
                true),
            format_result(task, summary()) + " a 0.5000 metric MRR\n");
}

TEST(TrainConsole, SparseChoicesOfBothDirections) {
  const auto graph = [](std::vector<std::int32_t> col) {
    return Adjacency({2, 2, Tensor::from(std::vector<std::int64_t>{0, 1, 2}), Tensor::from(col)});
  };
  const Adjacency directed = graph({0, 0}), symmetric = graph({1, 0});
  EXPECT_EQ(format_spmm_choices(SpmmAlgorithm::kRode, directed), "spmm rode: asked for\n");
  for (const Adjacency& adj : {directed, symmetric, transpose_pattern(directed)})
    spmm(adj, Tensor::zeros({2, 3}));
  const std::string choice = "n=3 f32 unweighted: csr, by rule: on the CPU, from the row lengths\n";
  EXPECT_EQ(format_spmm_choices(SpmmAlgorithm::kAuto, directed),
            "spmm auto, the graph:\n" + choice + "spmm auto, its transpose:\n" + choice);
  EXPECT_EQ(format_spmm_choices(SpmmAlgorithm::kAuto, symmetric), "spmm auto, the graph:\n" + choice);
}

TEST(TrainConsole, DeviceSaysThatThereIsNoGpu) {
  EXPECT_EQ(describe_device("cpu", kCpu), "cpu (" + describe(kCpu) + ")");
  EXPECT_EQ(describe_device("auto", kCpu), "cpu (" + describe(kCpu) + "); no GPU: --list-devices says why");
}

}  // namespace
}  // namespace rodeo
