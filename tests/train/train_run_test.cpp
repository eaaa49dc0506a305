// One run from its data to its files, as the commands and Python train it.
#include "train/commands/train_run.h"

#include <filesystem>

#include "core/context.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny.h"
#include "train/checkpoint.h"
#include "train/commands/console_run.h"
#include "train/io/run_state.h"
#include "train/task/model_registry.h"

namespace rodeo::test {
namespace {

TrainOptions options_of(std::string_view model, int epochs = 5) {
  TrainOptions options = published_options(model);
  options.epochs = epochs;
  options.spmm = SpmmAlgorithm::kRode;
  return options;
}

class Watcher : public RunObserver {
 public:
  void loaded(const NodeRun& run) override { calls += str("loaded ", run.task.name); }
  void started(const Recorder&) override { calls += ", started"; }
  void epoch(const EpochReport& report) override {
    calls += str(", ", report.epoch);
    losses.push_back(report.loss);
    if (report.epoch == fails_at) throw Error("enough");
  }
  bool stops() override { return std::ssize(losses) == stops_at; }

  int fails_at = 0, stops_at = -1;
  std::string calls;
  std::vector<double> losses;
};

class TrainRun : public OnDevice {
 protected:
  TrainedRun train(DataSource source, const TrainOptions& options, Watcher& watcher) {
    Recorder recorder(options, /*writes=*/true, /*keeps_best=*/true);
    TrainedRun trained = train_run(std::move(source), options, device(), {}, recorder, watcher);
    best_ = recorder.best();
    return trained;
  }

  TempDir dir_;
  StateDict best_;
};
RODEO_ON_ALL_DEVICES(TrainRun);

TEST_P(TrainRun, AFileTrainsAsItsDataset) {
  save_dataset(tiny_dataset(), dir_ / "x.h5");
  for (const char* model : {"gcn", "gat", "sage"}) {
    Watcher file, memory;
    const TrainedRun a = train({.file = dir_ / "x.h5"}, options_of(model), file);
    train({.dataset = load_dataset(dir_ / "x.h5")}, options_of(model), memory);
    EXPECT_EQ(file.losses, memory.losses) << model;
    EXPECT_EQ(file.calls, "loaded cora-like, started, 1, 2, 3, 4, 5");
    EXPECT_EQ(a.summary.epochs, 5);
    EXPECT_EQ(best_.size(), a.run.model.module->state_dict().size());
  }
}

TEST_P(TrainRun, AnObserverStopsIt) {
  Watcher watcher;
  watcher.stops_at = 2;
  const TrainedRun trained = train({.dataset = tiny_dataset()}, options_of("gcn"), watcher);
  EXPECT_TRUE(trained.summary.stopped);
  EXPECT_LT(trained.summary.epochs, 5);
}

TEST_P(TrainRun, AnErrorOfAnObserverEndsItWithoutFiles) {
  Watcher watcher;
  watcher.fails_at = 3;
  TrainOptions options = options_of("gcn");
  options.export_file = dir_ / "w.safetensors";
  EXPECT_ERROR(train({.dataset = tiny_dataset()}, options, watcher), "enough");
  EXPECT_FALSE(std::filesystem::exists(options.export_file));
}

// The checkpoint within an epoch is that of the last batch before.
TEST_P(TrainRun, BatchesAreCheckpointed) {
  struct Killed : Watcher {
    void batch(int epoch, int number, int) override {
      if (epoch == 2 && number == 4) throw Error("enough");
    }
  };
  TrainOptions options = options_of("sage");
  options.batch = 16, options.fanout = "4,3";
  options.checkpoint = dir_ / "ck";
  options.checkpoint_every = 1000, options.checkpoint_every_batches = 3;
  Killed killed;
  EXPECT_ERROR(train({.dataset = tiny_dataset()}, options, killed), "enough");
  const RunState state = read_state(CheckpointFolder(options.checkpoint).load().state, {}, "here");
  EXPECT_EQ(state.trainer.epoch, 1);
  EXPECT_EQ(state.trainer.batch, 3);
}

TEST_P(TrainRun, ASplitOfADatasetInMemory) {
  Dataset data = tiny_dataset();
  const auto train_nodes = [&](const std::string& split) {
    TrainOptions options = options_of("gcn");
    options.split = split;
    options.seed = 3;
    return make_run(data, options, device()).task.split.train.to(kCpu).to_vector<std::int64_t>();
  };
  const Split one = random_split(data.y, "40/30/30", 3), other = random_split(data.y, "20/40/40", 4);
  EXPECT_EQ(train_nodes(""), data.split.train.to_vector<std::int64_t>());
  EXPECT_EQ(train_nodes("40/30/30"), one.train.to_vector<std::int64_t>());
  data.splits = {one, other};
  EXPECT_EQ(train_nodes("1"), other.train.to_vector<std::int64_t>());
  EXPECT_ERROR(train_nodes("2"),
               "--split must be percentages such as 60/20/20, or one of the 2 splits of cora-like, counted "
               "from 0, got 2");
  data.split = {};
  EXPECT_ERROR(train_nodes(""), "cora-like: has no masks: training needs them, or a split such as 60/20/20");
}

TEST_P(TrainRun, ADryRunPrintsThePlanAndRefusesWhatTrainingRefuses) {
  TrainOptions options = options_of("gcn", 1);
  options.dataset = dir_ / "x.h5";
  options.checkpoint = dir_ / "checkpoint";
  save_dataset(tiny_dataset(), options.dataset);
  testing::internal::CaptureStdout();
  dry_run(options, device(), {});
  const std::string out = testing::internal::GetCapturedStdout();
  EXPECT_NE(out.find("read all edges and all features; build the graph on "), std::string::npos) << out;
  EXPECT_FALSE(std::filesystem::exists(options.checkpoint));
  {
    Watcher watcher;
    train({.file = options.dataset}, options, watcher);
  }
  EXPECT_ERROR(
      dry_run(options, device(), {}),
      options.checkpoint +
          ": has a checkpoint of epoch 1: --resume goes on from it; for a new run name another folder");
}

TEST(TrainRunSettings, AreThoseOfBeforeAfterIt) {
  const bool tf32 = allow_tf32();
  TrainOptions options;
  options.precision = tf32 ? Precision::kFp32 : Precision::kTf32;
  {
    const RunSettings settings(options);
    EXPECT_NE(allow_tf32(), tf32);
  }
  EXPECT_EQ(allow_tf32(), tf32);
}

}  // namespace
}  // namespace rodeo::test
