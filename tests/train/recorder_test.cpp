// Runs that are recorded: resumed with the same bits, exported, predicted from, logged and reported.
#include "train/commands/recorder.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>

#include "datasets/hdf5_file.h"
#include "datasets/synthetic.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny.h"
#include "train/checkpoint.h"
#include "train/commands/predict.h"
#include "train/io/atomic_file.h"
#include "train/io/run_state.h"
#include "train/io/settings.h"
#include "train/task/model_registry.h"

namespace rodeo {
namespace {

using test::TempDir;
constexpr std::size_t kMostBytes = 10'000'000;

struct Recorded {
  std::vector<double> losses;
  StateDict state;
  TrainSummary summary;
  int resumed_from = 0;
};

Recorded train(const TrainOptions& options, Device device) {
  Recorder recorder(options);
  const NodeRun run = load_run(options, device);
  Trainer trainer = make_trainer(run, {.epochs = options.epochs,
                                       .eval_every = options.eval_every,
                                       .patience = options.patience,
                                       .stop_on_loss = options.stop_on_loss,
                                       .cuda_graph = options.cuda_graph,
                                       .optimizer = options.optimizer,
                                       .schedule = options.schedule,
                                       .clip_norm = options.clip_norm});
  Recorded recorded;
  recorded.resumed_from = recorder.start(run, trainer, str(device));
  recorded.summary = trainer.fit([&](const EpochReport& report) {
    recorder.epoch(report);
    recorded.losses.push_back(report.loss);
  });
  recorder.finish(recorded.summary);
  recorded.state = run.model.module->state_dict();
  return recorded;
}

/// 20 epochs of a model with everything random that it has.
TrainOptions options_of(std::string_view kind, const TempDir& dir) {
  TrainOptions options = published_options(kind);
  options.dataset = dir / "tiny.h5";
  options.epochs = 20;
  options.spmm = SpmmAlgorithm::kRode;
  if (kind == "appnp") options.edge_dropout = 0.3;
  if (kind == "gin") options.drop_edge = 0.3;
  return options;
}

class TrainRecorder : public test::OnDevice {
 protected:
  void SetUp() override {
    OnDevice::SetUp();
    if (!IsSkipped()) save_dataset(test::tiny_dataset(200, 5), dir_ / "tiny.h5");
  }
  TempDir dir_;
};
RODEO_ON_ALL_DEVICES(TrainRecorder);

TEST_P(TrainRecorder, ResumesWithTheSameBits) {
  for (const std::string_view kind : {"gcn", "gat", "gin", "appnp"}) {
    SCOPED_TRACE(kind);
    const std::string folder = dir_ / std::string(kind);
    TrainOptions options = options_of(kind, dir_);
    const Recorded whole = train(options, device());
    options.checkpoint = folder;
    options.epochs = 10;
    const Recorded first = train(options, device());
    options.epochs = 20;
    options.resume = true;
    const Recorded second = train(options, device());
    EXPECT_EQ(second.resumed_from, 10);
    std::vector<double> losses = first.losses;
    losses.insert(losses.end(), second.losses.begin(), second.losses.end());
    EXPECT_EQ(losses, whole.losses);
    ASSERT_EQ(second.state.size(), whole.state.size());
    for (std::size_t i = 0; i < whole.state.size(); ++i)
      EXPECT_TRUE(test::same_bits(second.state[i].second, whole.state[i].second)) << whole.state[i].first;
    EXPECT_EQ(second.summary.best_epoch, whole.summary.best_epoch);
    EXPECT_EQ(second.summary.best.val_loss, whole.summary.best.val_loss);
    EXPECT_EQ(second.summary.last.test, whole.summary.last.test);
    EXPECT_EQ(second.summary.epochs, 20);
    // A run that is over has nothing to do.
    EXPECT_TRUE(train(options, device()).losses.empty());
  }
}

TEST_P(TrainRecorder, SchedulesGoOnWhereTheyWere) {
  using Kind = LrScheduleOptions::Kind;
  for (const Kind kind : {Kind::kStep, Kind::kCosine, Kind::kPlateau}) {
    SCOPED_TRACE(name(kind));
    TrainOptions options = options_of("gcn", dir_);
    options.lr = 0.1;
    options.schedule = {.kind = kind, .step = 4, .factor = 0.5, .period = 20, .least = 1e-3, .patience = 0};
    options.clip_norm = 0.05;
    const Recorded whole = train(options, device());
    options.checkpoint = dir_ / std::string(name(kind));
    options.epochs = 10;
    std::vector<double> losses = train(options, device()).losses;
    options.epochs = 20;
    options.resume = true;
    const Recorded second = train(options, device());
    losses.insert(losses.end(), second.losses.begin(), second.losses.end());
    EXPECT_EQ(losses, whole.losses);
    options.clip_norm = 0.1;
    EXPECT_NE(test::error_of([&] {
                train(options, device());
              }).find("was trained with --clip-norm 0.05, not with 0.1"),
              std::string::npos);
  }
}

TEST_P(TrainRecorder, OptimizersGoOnWhereTheyWere) {
  for (const OptimizerEntry& entry : optimizer_registry()) {
    SCOPED_TRACE(entry.name);
    TrainOptions options = options_of("gcn", dir_);
    options.optimizer = {std::string(entry.name), entry.momentum ? 0.9 : 0, entry.momentum};
    const Recorded whole = train(options, device());
    EXPECT_LT(whole.losses.back(), whole.losses.front());
    options.checkpoint = dir_ / std::string(entry.name);
    options.epochs = 10;
    std::vector<double> losses = train(options, device()).losses;
    options.epochs = 20;
    options.resume = true;
    const Recorded second = train(options, device());
    losses.insert(losses.end(), second.losses.begin(), second.losses.end());
    EXPECT_EQ(losses, whole.losses);
    options.optimizer = {};
    options.optimizer.name = entry.name == "adam" ? "adamw" : "adam";
    EXPECT_NE(test::error_of([&] {
                train(options, device());
              }).find(str("was trained with --optimizer \"", entry.name)),
              std::string::npos);
  }
}

TEST_P(TrainRecorder, PatienceGoesOnWhereItWas) {
  for (const bool on_loss : {false, true}) {
    SCOPED_TRACE(on_loss);
    TrainOptions options = options_of("gcn", dir_);
    options.lr = on_loss ? 0.05 : options.lr;
    options.epochs = 400;
    options.patience = 7;
    options.stop_on_loss = on_loss;
    const Recorded whole = train(options, device());
    ASSERT_LT(whole.summary.epochs, 400);
    options.checkpoint = dir_ / (on_loss ? "ck_loss" : "ck");
    options.epochs = whole.summary.epochs - 3;
    train(options, device());
    options.epochs = 400;
    options.resume = true;
    EXPECT_EQ(train(options, device()).summary.epochs, whole.summary.epochs);
    EXPECT_EQ(train(options, device()).losses.size(), 0u);
  }
}

TEST_P(TrainRecorder, OtherOptionsAndOtherDataAreRefused) {
  TrainOptions options = options_of("gcn", dir_);
  options.checkpoint = dir_ / "ck";
  options.epochs = 2;
  train(options, device());
  const std::string where = dir_ / "ck: the checkpoint of epoch 2";
  EXPECT_ERROR(train(options, device()), dir_ /
                                             "ck: has a checkpoint of epoch 2: --resume goes on from it; for "
                                             "a new run name another folder");
  options.resume = true;
  TrainOptions other = options;
  other.lr = 0.5;
  EXPECT_ERROR(train(other, device()), where +
                                           ": was trained with --lr 0.01, not with 0.5: a run is resumed "
                                           "with the options it began with");
  other = options;
  other.split = "60/20/20";
  EXPECT_ERROR(train(other, device()), where +
                                           ": was trained with --split no value, not with \"60/20/20\": a "
                                           "run is resumed with the options it began with");
  SyntheticOptions synthetic = synthetic_preset("cora");
  synthetic.nodes = 220;
  synthetic.edges = 800;
  synthetic.features = 30;
  synthetic.split = "50/25/25";
  save_dataset(synthesize(synthetic), dir_ / "tiny.h5");
  EXPECT_NE(test::error_of([&] { train(options, device()); }).find(where + ": was trained on "),
            std::string::npos);
}

TEST_P(TrainRecorder, ExportedWeightsPredictWhatTrainingMeasured) {
  for (const std::string_view kind : {"gcn", "gat", "sage"}) {
    SCOPED_TRACE(kind);
    TrainOptions options = options_of(kind, dir_);
    options.export_file = dir_ / "w.safetensors";
    options.hidden = 12;
    const Recorded run = train(options, device());
    const SafeTensors weights = read_safetensors(options.export_file);
    const WeightsInfo info = read_info(weights, "w");
    EXPECT_EQ(info.epoch, run.summary.best_epoch);
    EXPECT_EQ(info.options.hidden, 12);
    EXPECT_EQ(info.options.model, kind);
    EXPECT_EQ(info.evaluation.value().test, run.summary.best.test);

    predict({.dataset = options.dataset,
             .weights = options.export_file,
             .out = dir_ / "pred.h5",
             .device = str(device()),
             .quiet = true});
    const Hdf5File file(dir_ / "pred.h5");
    const auto taken_for = file.array("class").read(DType::kI64).to_vector<std::int64_t>();
    const Tensor probability = file.array("probability").read(DType::kF32);
    ASSERT_EQ(probability.shape(), (Shape{200, info.num_classes}));
    const Dataset data = load_dataset(options.dataset);
    const auto label = data.y.to_vector<std::int64_t>();
    std::int64_t right = 0;
    const auto test = data.split.test.to(DType::kI64).to_vector<std::int64_t>();
    for (const std::int64_t node : test) right += label[node] == taken_for[node];
    EXPECT_EQ(static_cast<double>(right) / static_cast<double>(test.size()), run.summary.best.test);
    const float* row = probability.data<float>();
    for (std::size_t i = 0; i < 200; ++i, row += info.num_classes) {
      double sum = 0;
      for (std::int64_t j = 0; j < info.num_classes; ++j) {
        sum += row[j];
        EXPECT_LE(row[j], row[taken_for[i]]);
      }
      EXPECT_NEAR(sum, 1, 1e-5);
    }
  }
}

TEST_P(TrainRecorder, LogsHaveEveryEpochAlsoOverABreak) {
  TrainOptions options = options_of("gcn", dir_);
  options.checkpoint = dir_ / "ck";
  options.epochs = 4;
  options.log = dir_ / "run.jsonl";
  options.csv = dir_ / "run.csv";
  train(options, device());
  options.epochs = 6;
  options.resume = true;
  train(options, device());
  std::istringstream csv(read_file(options.csv, kMostBytes));
  std::string line;
  std::getline(csv, line);
  const auto commas = std::count(line.begin(), line.end(), ',');
  for (int epoch = 1; epoch <= 6; ++epoch) {
    ASSERT_TRUE(std::getline(csv, line)) << epoch;
    EXPECT_TRUE(line.starts_with(std::to_string(epoch) + ",")) << line;
    EXPECT_EQ(std::count(line.begin(), line.end(), ','), commas);
  }
  EXPECT_FALSE(std::getline(csv, line));
  const std::string log = read_file(options.log, kMostBytes);
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 2 + 6 + 2);
  EXPECT_NE(log.find("\"resumed_from\":4"), std::string::npos);
  EXPECT_NE(log.find("\"one_way_edges\":0"), std::string::npos);
  EXPECT_NE(log.find("\"test_majority\":{\"share\":0."), std::string::npos);
}

// A browser that is found in PATH opens the page; the picture is kept where RODEO_ARTIFACTS says.
TEST_P(TrainRecorder, TheReportStandsAlone) {
  TrainOptions options = options_of("gcn", dir_);
  options.report = dir_ / "report.html";
  options.dataset = dir_ / "tiny.h5";
  options.lr = 0.2;  // so that the best epoch is hardly the last
  Recorded recorded = train(options, device());
  while (recorded.summary.best.test == recorded.summary.last.test && ++options.seed < 10)
    recorded = train(options, device());
  const std::string page = read_file(options.report, kMostBytes);
  EXPECT_TRUE(page.starts_with("<!DOCTYPE html>"));
  for (const char* title :
       {"Run", "Loss", "Accuracy", "Time", "Test nodes by class", "Scores by class", "Embedding",
        "Memory of tensors", "Degrees", "Kernels", "Configuration", "Versions"})
    EXPECT_NE(page.find(str("<h2>", title, "</h2>")), std::string::npos) << title;
  EXPECT_NE(page.find(" of the test nodes are of the largest class, "), std::string::npos);
  EXPECT_LT(page.find("<section class=\"result\"><p><b>"), page.find("<h2>"));
  EXPECT_NE(page.find("<th scope=\"row\">split</th><td>100 train, 50 val, 50 test nodes</td>"),
            std::string::npos);
  EXPECT_LT(page.find("<details><summary><h2>Kernels and memory</h2>"),
            page.find("<h2>Memory of tensors</h2>"));
  EXPECT_NE(page.find("<tr class=\"changed\"><th scope=\"row\">report</th>"), std::string::npos);
  EXPECT_NE(page.find("<tr><th scope=\"row\">hidden</th><td>16</td>"), std::string::npos);
  EXPECT_NE(page.find("train_tests"), std::string::npos);  // the command line

  // Headline and matrix are of the same epoch, which is not the last one.
  const TrainSummary& summary = recorded.summary;
  ASSERT_NE(summary.best.test, summary.last.test) << "the test needs a run whose best epoch is not the last";
  EXPECT_NE(page.find(fmt::format("<b>{:.2f} %</b>", 100 * summary.best.test)), std::string::npos);
  double right = 0, all = 0;
  const std::regex cell("<title>(\\d+) of class (\\d+) predicted as (\\d+)</title>");
  for (std::sregex_iterator i(page.begin(), page.end(), cell), end; i != end; ++i) {
    const double nodes = std::stod((*i)[1].str());
    all += nodes;
    if ((*i)[2] == (*i)[3]) right += nodes;
  }
  EXPECT_NEAR(right / all, summary.best.test, 1e-9);
  EXPECT_NE(page.find(str("After the best epoch, ", summary.best_epoch, ".")), std::string::npos);
  EXPECT_NE(page.find(str(">best epoch ", summary.best_epoch, "</text>")), std::string::npos);
  EXPECT_EQ(page.find("<script"), std::string::npos);
  for (std::size_t at = 0; (at = page.find("nan", at)) != std::string::npos; ++at)
    EXPECT_EQ(page.substr(at - 3, 6), "on-nan");  // the option, and no number
  for (std::size_t at = 0; (at = page.find("http", at)) != std::string::npos; ++at)
    EXPECT_EQ(page.substr(at, 26), "http://www.w3.org/2000/svg");  // a name, never fetched
  if (std::system("python3 -c 'import xml.dom.minidom' 2>/dev/null") == 0) {
    std::ofstream(dir_ / "tags.py") << "import sys, html.parser\n"
                                       "class P(html.parser.HTMLParser):\n"
                                       "  s = []\n"
                                       "  def handle_starttag(self, t, a):\n"
                                       "    if t not in ('meta', 'link'): self.s.append(t)\n"
                                       "  def handle_endtag(self, t): assert self.s.pop() == t, t\n"
                                       "p = P(); p.feed(open(sys.argv[1]).read()); assert not p.s, p.s\n";
    EXPECT_EQ(std::system(("python3 " + dir_ / "tags.py" + " " + options.report).c_str()), 0);
  }
}

TEST_P(TrainRecorder, ReportIsShownByABrowserWithoutComplaint) {
  std::string browser;
  for (const char* name :
       {"chromium", "chromium-browser", "google-chrome", "chrome", "chrome-headless-shell"})
    if (browser.empty() && std::system(str("command -v ", name, " >/dev/null 2>&1").c_str()) == 0)
      browser = name;
  if (browser.empty()) GTEST_SKIP() << "no Chromium or Chrome";
  TrainOptions options = options_of("gcn", dir_);
  options.report = dir_ / "report.html";
  train(options, device());
  const char* artifacts = std::getenv("RODEO_ARTIFACTS");
  const std::string picture = (artifacts ? std::string(artifacts) : dir_ / "") + "/report_" +
                              str(device().is_cuda() ? "cuda" : "cpu") + ".png";
  const std::string log = dir_ / "browser.txt";
  EXPECT_EQ(
      std::system(str(browser,
                      " --headless --no-sandbox --disable-gpu --enable-logging=stderr --v=0 --user-data-dir=",
                      dir_ / "profile", " --window-size=1400,2400 --screenshot=", picture, " file://",
                      options.report, " >/dev/null 2>", log)
                      .c_str()),
      0);
  EXPECT_GT(std::filesystem::file_size(picture), 20'000u);
  EXPECT_EQ(read_file(log, kMostBytes).find("CONSOLE"), std::string::npos) << read_file(log, kMostBytes);
}

TEST(TrainRecorderFiles, WhatCannotBeWrittenIsToldBeforeTraining) {
  const TempDir dir;
  TrainOptions options;
  options.dataset = dir / "none.h5";
  const auto error = [&](std::string TrainOptions::*member, const std::string& path) {
    TrainOptions bad = options;
    bad.*member = path;
    return test::error_of([&] { Recorder{bad}; });
  };
  const std::string nowhere = dir / "no/file", by_name = ": cannot be written: No such file or directory";
  EXPECT_EQ(error(&TrainOptions::export_file, nowhere + ".safetensors"),
            nowhere + ".safetensors: cannot be written: no such folder");
  EXPECT_EQ(error(&TrainOptions::report, nowhere + ".html"),
            nowhere + ".html: cannot be written: no such folder");
  EXPECT_EQ(error(&TrainOptions::log, nowhere + ".jsonl"), nowhere + ".jsonl" + by_name);
  EXPECT_EQ(error(&TrainOptions::csv, nowhere + ".csv"), nowhere + ".csv" + by_name);
  EXPECT_EQ(error(&TrainOptions::export_file, options.dataset),
            str("--export ", options.dataset, ": is also --dataset, which is read: name another file"));
  write_file(dir / "file", "");
  EXPECT_EQ(error(&TrainOptions::checkpoint, dir / "file"), dir / "file: cannot be made: Not a directory");
  EXPECT_EQ(error(&TrainOptions::tensorboard, dir / "file"), dir / "file: cannot be made: Not a directory");
}

}  // namespace
}  // namespace rodeo
