// Runs on mini-batches that stop within an epoch and go on there, with the bits of an uninterrupted run.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "tests/support/devices.h"
#include "tests/support/near.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny.h"
#include "train/checkpoint.h"
#include "train/commands/parse_options.h"
#include "train/commands/recorder.h"
#include "train/io/run_state.h"
#include "train/task/model_registry.h"
#include "train/task/node_model.h"

namespace rodeo {
namespace {

using test::TempDir;

constexpr int kEpochs = 7;

struct Outcome {
  std::vector<double> losses;
  std::vector<int> batches;  // the numbers that on_batch was given
  StateDict weights;
  TrainSummary summary;
  std::string resumed;
};

/// A crash.
struct Killed {};

class TrainBatchCheckpoints : public test::OnDevice {
 protected:
  void SetUp() override {
    OnDevice::SetUp();
    if (!IsSkipped()) save_dataset(test::tiny_dataset(200, 5), dir_ / "tiny.h5");
  }

  TrainOptions options_of(std::string_view model) const {
    TrainOptions options = published_options(model);
    options.dataset = dir_ / "tiny.h5";
    options.epochs = kEpochs;
    options.dropout = 0.4;
    options.batch = 16;
    options.fanout = "4,3";
    options.schedule.kind = LrScheduleOptions::Kind::kPlateau;
    options.schedule.patience = 0;
    return options;
  }

  /// at: (epoch, batch) behind which the run is stopped, or is killed.
  static Outcome train(const TrainOptions& options, std::optional<std::pair<int, int>> stopped = {},
                       std::optional<std::pair<int, int>> killed = {}) {
    Recorder recorder(options);
    const NodeRun run = load_run(options, device());
    TrainerOptions training = trainer_options(options);
    Outcome out;
    std::pair<int, int> now;
    training.on_batch = [&](int epoch, int batch, int batches) {
      now = {epoch, batch};
      out.batches.push_back(batch);
      recorder.batch(batch, batches);
      if (killed == now) throw Killed{};
    };
    training.stop = [&] { return stopped == now; };
    Trainer trainer = make_trainer(run, training);
    recorder.start(run, trainer, "here");
    out.resumed = recorder.resumed();
    try {
      out.summary = trainer.fit([&](const EpochReport& report) {
        recorder.epoch(report);
        out.losses.push_back(report.loss);
      });
      recorder.finish(out.summary);
    } catch (const Killed&) {
    }
    out.weights = run.model.module->state_dict();
    return out;
  }

  static void expect_rest(const Outcome& rest, const Outcome& whole) {
    ASSERT_LE(rest.losses.size(), whole.losses.size());
    EXPECT_EQ(rest.losses,
              std::vector<double>(whole.losses.end() - std::ssize(rest.losses), whole.losses.end()));
    ASSERT_EQ(rest.weights.size(), whole.weights.size());
    for (std::size_t i = 0; i < whole.weights.size(); ++i)
      EXPECT_TRUE(test::same_bits(rest.weights[i].second, whole.weights[i].second)) << whole.weights[i].first;
    EXPECT_EQ(rest.summary.best_epoch, whole.summary.best_epoch);
    EXPECT_EQ(rest.summary.best.val_loss, whole.summary.best.val_loss);
    EXPECT_EQ(rest.summary.last.test, whole.summary.last.test);
    EXPECT_EQ(rest.summary.epochs, whole.summary.epochs);
  }

  TempDir dir_;
};
RODEO_ON_ALL_DEVICES(TrainBatchCheckpoints);

TEST_P(TrainBatchCheckpoints, AStoppedRunGoesOnBehindItsBatch) {
  for (const std::string_view model : {"sage", "gcn", "gat", "gatv2", "gin"}) {
    const Outcome whole = train(options_of(model));
    ASSERT_GT(whole.batches.size(), 4 * static_cast<std::size_t>(kEpochs)) << "batches are too few";
    for (const std::pair<int, int>& at : {std::pair(1, 1), {3, 2}, {kEpochs, 3}}) {
      SCOPED_TRACE(str(model, ", batch ", at.second, " of epoch ", at.first));
      TrainOptions options = options_of(model);
      options.checkpoint = dir_ / str(model, at.first);
      const Outcome first = train(options, at);
      EXPECT_TRUE(first.summary.stopped);
      EXPECT_EQ(first.summary.epochs, at.first - 1);
      EXPECT_EQ(first.summary.batch, at.second);
      EXPECT_EQ(first.losses.size(), at.first - 1);
      EXPECT_EQ(std::isnan(first.summary.best.test), at.first == 1) << "nothing was evaluated";
      EXPECT_EQ(std::isnan(first.summary.last.val), at.first == 1);
      options.resume = true;
      const Outcome rest = train(options);
      EXPECT_EQ(rest.resumed, str("after batch ", at.second, " of epoch ", at.first));
      EXPECT_EQ(rest.batches.front(), at.second + 1);
      EXPECT_EQ(rest.losses.size(), kEpochs - at.first + 1);
      EXPECT_EQ(rest.summary.warmup_ms.size(), std::min<std::size_t>(3, rest.losses.size()));
      expect_rest(rest, whole);
      EXPECT_EQ(rest.summary.batch, 0);
      EXPECT_TRUE(train(options).losses.empty()) << "a run that is over has nothing to do";
    }
  }
}

TEST_P(TrainBatchCheckpoints, AStoppedRunOfPartsGoesOnBehindItsPart) {
  TrainOptions options = options_of("gcn");
  options.batch = 40;
  options.batch_by_parts = true;
  options.fanout.clear();
  const Outcome whole = train(options);
  options.checkpoint = dir_ / "parts";
  train(options, std::pair(2, 3));
  options.resume = true;
  const Outcome rest = train(options);
  EXPECT_EQ(rest.batches.front(), 4);
  expect_rest(rest, whole);
}

TEST_P(TrainBatchCheckpoints, AKilledRunGoesOnBehindItsLastCheckpoint) {
  TrainOptions options = options_of("sage");
  const Outcome whole = train(options);
  const int batches = *std::ranges::max_element(whole.batches);
  ASSERT_GE(batches, 5);
  options.checkpoint = dir_ / "killed";
  options.checkpoint_every = 1000;
  options.checkpoint_every_batches = 2;
  train(options, {}, std::pair(3, 5));
  options.resume = true;
  Outcome rest = train(options, {}, std::pair(5, 3));
  EXPECT_EQ(rest.resumed, "after batch 4 of epoch 3");
  rest = train(options);
  EXPECT_EQ(rest.resumed, "after batch 2 of epoch 5");
  expect_rest(rest, whole);
  // The log of the run has all epochs.
  const RunState state = read_state(CheckpointFolder(options.checkpoint).load().state, {}, "here");
  ASSERT_EQ(state.history.size(), kEpochs);
  for (int i = 0; i < kEpochs; ++i) EXPECT_EQ(state.history[i].loss, whole.losses[i]) << i;
}

// The checkpoint of the last batch is the one after the evaluation.
TEST_P(TrainBatchCheckpoints, TheLastBatchIsTheEpoch) {
  TrainOptions options = options_of("sage");
  const std::vector<int> numbers = train(options).batches;
  const int batches = *std::ranges::max_element(numbers);
  options.checkpoint = dir_ / "last";
  options.checkpoint_every = 1000;
  options.checkpoint_every_batches = batches;
  train(options, {}, std::pair(3, 1));
  options.resume = true;
  EXPECT_EQ(train(options).resumed, "after epoch 2");
}

TEST_P(TrainBatchCheckpoints, StatesThatDoNotFitAreErrors) {
  TrainOptions options = options_of("sage");
  const NodeRun run = load_run(options, device());
  Trainer trainer = make_trainer(run, trainer_options(options));
  TrainerState state = trainer.state();
  state.batch = 1000;
  trainer.restore(state);
  EXPECT_NE(test::error_of([&] { trainer.fit(); }).find("[train] epoch 1 has "), std::string::npos);
  options.batch = 0;
  options.fanout.clear();
  const NodeRun whole = load_run(options, device());
  Trainer other = make_trainer(whole, trainer_options(options));
  TrainerState mine = other.state();
  mine.batch = 3;
  EXPECT_ERROR(
      other.restore(mine),
      "[train] the state is of mini-batch 3 of an epoch, and training without mini-batches cannot go "
      "on from there");
}

TEST(TrainBatchCheckpointOptions, NeedBatchesAndAFolder) {
  const auto parse = [](std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), {"rodeo_train", "--dataset", "x.h5", "--model", "sage"});
    TrainOptions any;
    any.choose_model = true;
    return parse_train_options(static_cast<int>(arguments.size()), arguments.data(), any);
  };
  const char* const text = "--checkpoint-every-batches needs --batch N and --checkpoint DIR";
  EXPECT_ERROR(parse({"--checkpoint-every-batches", "5", "--checkpoint", "c"}), text);
  EXPECT_ERROR(parse({"--checkpoint-every-batches", "5", "--batch", "64"}), text);
  EXPECT_EQ(parse({"--checkpoint-every-batches", "5", "--batch", "64", "--checkpoint", "c"})
                .checkpoint_every_batches,
            5);
}

}  // namespace
}  // namespace rodeo
