#include "train/report/op_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "tests/support/devices.h"
#include "tests/support/process.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny.h"
#include "train/io/atomic_file.h"
#include "train/task/model_registry.h"
#include "train/task/node_model.h"
#include "train/trainer.h"

namespace rodeo {
namespace {

class TrainProfile : public test::OnDevice {};
RODEO_ON_ALL_DEVICES(TrainProfile);

TEST_P(TrainProfile, SeesTheKernelsOfProfiledStepsAndChangesNoBits) {
  std::vector<std::vector<double>> losses;
  for (const bool timed : {false, true}) {
    TrainOptions model = published_options("gcn");
    model.features = FeatureForm::kDense;
    const NodeRun run = make_run(test::tiny_dataset(), model, device());
    KernelTimer timer(device(), 2);
    TrainerOptions options{.epochs = 40};
    if (timed) options.timer = &timer;
    Trainer trainer = make_trainer(run, options);
    losses.emplace_back();
    trainer.fit([&](const EpochReport& report) { losses.back().push_back(report.loss); });
    if (!timed) {
      EXPECT_TRUE(timer.spans().empty());
      continue;
    }
    EXPECT_EQ(timer.steps(), 2);
    const std::vector<KernelSpan>& spans = timer.spans();
    std::set<std::string> ops;
    std::set<int> steps;
    double last = -1;
    int products = 0;
    for (const KernelSpan& span : spans) {
      ops.insert(span.op);
      steps.insert(span.step);
      EXPECT_GE(span.ms, 0);
      EXPECT_GE(span.begin_ms, last) << "kernels are in the order of the device";
      last = span.begin_ms;
      EXPECT_GT(span.bytes, 0);
      EXPECT_GT(span.memory, 0);
      products += span.op == std::string("matmul");
    }
    EXPECT_EQ(steps.size(), 2u);
    for (const char* op : {"matmul", "epilogue", "adam_step", "cross_entropy"})
      EXPECT_TRUE(ops.contains(op)) << op;
    EXPECT_EQ(products, 2 * 5) << "X W1, H W2, dH, dW2, dW1 of two steps";
    const std::size_t curve = memory_over_step(spans).size();
    EXPECT_EQ(curve, spans.size() / 2);
  }
  EXPECT_EQ(losses[0], losses[1]);
}

std::vector<KernelSpan> some_spans() {
  return {{"spmm", "", 5, 1.0, 2.0, 3'000'000, 100},
          {"relu", "", 5, 3.5, 0.5, 1'000'000, 200},
          {"spmm", "spmm", 5, 4.0, 2.5, 6'000'000, 300},
          {"spmm", "", 15, 50, 1.0, 3'000'000, 150}};
}

TEST(TrainOpReport, TableIsByTime) {
  const std::string table = format_op_table(some_spans(), 2);
  EXPECT_EQ(table,
            "op, 2 epochs                 calls    total ms    share         bytes      GB/s\n"
            "spmm                             3       5.500   91.7 %     11.44 MiB       2.2\n"
            "relu                             1       0.500    8.3 %    976.56 KiB       2.0\n"
            "all                              4       6.000  100.0 %     12.40 MiB       2.2\n");
  EXPECT_NE(format_op_table({}, 0).find("no epoch was profiled"), std::string::npos);
}

TEST(TrainOpReport, TraceIsAsTheFormatAsks) {
  const auto json = nlohmann::json::parse(chrome_trace(some_spans(), "cpu \"x\""));
  std::map<std::string, int> phases;
  for (const auto& event : json["traceEvents"]) {
    const std::string phase = event["ph"];
    ++phases[phase];
    EXPECT_TRUE(event["name"].is_string() && event["pid"].is_number());
    if (phase == "X") {
      EXPECT_TRUE(event["ts"].is_number() && event["dur"].is_number() && event["tid"].is_number());
    }
  }
  EXPECT_EQ(phases["X"], 4 + 2);  // kernels and steps
  EXPECT_EQ(phases["C"], 4);
  EXPECT_EQ(phases["M"], 3);
  const auto& step = json["traceEvents"].at(3 + 8);
  EXPECT_EQ(step["name"], "epoch 5");
  EXPECT_EQ(step["ts"], 1000.0);
  EXPECT_EQ(step["dur"], 5500.0);
  EXPECT_EQ(memory_over_step(some_spans()), (std::vector<double>{150}));
}

TEST(TrainOpReport, TheCommandWritesAllOfIt) {
  const test::TempDir dir;
  save_dataset(test::tiny_dataset(), dir / "tiny.h5");
  const auto train = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {test::command("train_gcn"), "--device", "cpu", "--dataset",
                                          dir / "tiny.h5"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const int code = test::wait_for(test::start(arguments, dir / "out", dir / "err"));
    return code == 0 ? read_file(dir / "out", 1 << 20) : read_file(dir / "err", 1 << 20);
  };
  const std::string out = train({"--epochs", "12", "--features", "dense", "--profile", "--trace",
                                 dir / "trace.json", "--report", dir / "run.html"});
  EXPECT_NE(out.find("\nop, 1 epoch "), std::string::npos) << out;
  EXPECT_NE(out.find("\nmatmul "), std::string::npos) << out;
  const auto trace = nlohmann::json::parse(read_file(dir / "trace.json", 1 << 22));
  EXPECT_GT(trace["traceEvents"].size(), 20u);
  EXPECT_NE(read_file(dir / "run.html", 1 << 22).find("Memory over a step"), std::string::npos);
  EXPECT_NE(train({"--epochs", "2", "--profile"}).find("no epoch was profiled"), std::string::npos);
  EXPECT_NE(train({"--profile", "--quiet"}).find("give one of them"), std::string::npos);
}

}  // namespace
}  // namespace rodeo
