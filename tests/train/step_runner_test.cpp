#include "train/step_runner.h"

#include <limits>

#include "core/storage.h"
#include "datasets/synthetic.h"
#include "ops/dense.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"
#include "train/task/model_registry.h"
#include "train/task/node_model.h"
#include "train/trainer.h"

namespace rodeo::test {
namespace {

class TrainReplay : public testing::Test {
 protected:
  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device: " << cuda_absence_reason();
  }
};

struct Steps {
  TrainSummary summary;
  std::vector<double> losses, val_losses;
  std::vector<Tensor> parameters;
};

Steps train(std::string_view model, const TrainerOptions& options, double dropout,
            const std::function<void(const EpochReport&, Module&)>& on_epoch = {},
            Precision precision = Precision::kFp32) {
  TrainOptions training = published_options(model);
  training.dropout = training.attention_dropout = dropout;
  training.precision = precision;
  SyntheticOptions size = synthetic_preset("cora");
  const NodeRun run = make_run(synthesize(size), training, cuda_device());
  Trainer trainer = make_trainer(run, options);
  Steps out;
  out.summary = trainer.fit([&](const EpochReport& report) {
    out.losses.push_back(report.loss);
    if (report.evaluation) out.val_losses.push_back(report.evaluation->val_loss);
    if (on_epoch) on_epoch(report, *run.model.module);
  });
  for (const Variable& p : run.model.module->parameters()) out.parameters.push_back(p.value().to(kCpu));
  return out;
}

void expect_same(const Steps& a, const Steps& b) {
  EXPECT_EQ(a.losses, b.losses);
  EXPECT_EQ(a.val_losses, b.val_losses);
  ASSERT_EQ(a.parameters.size(), b.parameters.size());
  for (std::size_t i = 0; i < a.parameters.size(); ++i)
    EXPECT_TRUE(same_bits(a.parameters[i], b.parameters[i])) << i;
}

TEST_F(TrainReplay, CapturedAndEagerRunsGiveTheSameBits) {
  for (const Precision precision : {Precision::kFp32, Precision::kBf16})
    for (const std::string_view model : {"gcn", "gat"})
      for (const double dropout : {0.0, 0.6}) {
        const Steps eager = train(model, {.epochs = 25, .cuda_graph = false}, dropout, {}, precision);
        EXPECT_EQ(eager.summary.kernels, 0);
        // Between the replays stand profiled epochs, which run op by op.
        const Steps captured = train(model, {.epochs = 25}, dropout, {}, precision);
        EXPECT_GT(captured.summary.kernels, 0);
        expect_same(eager, captured);
        expect_same(eager, train(model, {.epochs = 25, .warmup_epochs = 0, .profile_every = 0}, dropout, {},
                                 precision));
        EXPECT_LT(captured.losses.back(), captured.losses.front());
      }
}

TEST_F(TrainReplay, ParametersThatAreReplacedAreReadFromTheirNewPlace) {
  const auto replace = [](const EpochReport& report, Module& model) {
    if (report.epoch % 7 != 0) return;
    for (Variable& p : model.parameters()) p.set_value(p.value().clone());
  };
  const TrainerOptions options{.epochs = 20, .profile_every = 0};
  expect_same(train("gcn", options, 0.5), train("gcn", options, 0.5, replace));
}

TEST_F(TrainReplay, ALossThatIsNotANumberStopsTheRightEpoch) {
  const auto spoil = [](const EpochReport& report, Module& model) {
    if (report.epoch == 8) model.parameters()[0].value().fill(std::numeric_limits<double>::quiet_NaN());
  };
  EXPECT_ERROR(train("gcn", {.epochs = 20}, 0.5, spoil),
               "[train] the training loss is nan in epoch 9: try a smaller learning rate");
}

/// Looks at a value on the host in every forward pass.
class Peeking : public Module {
 public:
  Peeking() { register_parameter("logits", &logits_, Tensor::zeros({2, 2}, DType::kF32, cuda_device())); }
  Variable forward() const {
    logits_.value().to_vector<float>();
    return logits_;
  }

 private:
  Variable logits_;
};

TEST_F(TrainReplay, AModelThatCannotBeCapturedSaysSoAndTrainsWithout) {
  const Tensor nodes = Tensor::from(std::vector<std::int64_t>{0, 1}),
               label = Tensor::from(std::vector<std::int64_t>{0, 1});
  Peeking model;
  const auto fit = [&](bool graph) {
    Trainer trainer(model, [&] { return model.forward(); }, {{model.parameters(), {}}}, label,
                    {nodes, nodes, nodes}, {.epochs = 6, .cuda_graph = graph});
    return trainer.fit();
  };
  const std::string error = error_of([&] { fit(true); });
  EXPECT_TRUE(error.starts_with("[cuda_graph] the work cannot be captured: ")) << error;
  EXPECT_TRUE(error.ends_with("; train without a CUDA graph (--no-cuda-graph)")) << error;
  EXPECT_EQ(fit(false).epochs, 6);
  EXPECT_EQ(fit(false).last.train, 1);
}

TEST_F(TrainReplay, MemoryIsReturned) {
  const std::int64_t before = memory_stats(cuda_device()).current;
  const TrainSummary summary = train("gcn", {.epochs = 10}, 0.5).summary;
  EXPECT_GT(summary.peak_bytes, before);
  EXPECT_EQ(memory_stats(cuda_device()).current, before);
}

TEST_F(TrainReplay, ALateEvaluationNeedsNoMemoryBesideTheCapturedStep) {
  const auto peak = [](int eval_every) {
    const TrainerOptions options{.epochs = 12, .eval_every = eval_every, .profile_every = 0};
    return static_cast<double>(train("gcn", options, 0.5).summary.peak_bytes);
  };
  EXPECT_LE(peak(12), 1.02 * peak(1));
}

TEST_F(TrainReplay, ReservesNothingForWhatTheFirstRunLeaves) {
  constexpr std::int64_t kBytes = 1 << 26;
  const auto block = [] { return Tensor::empty({kBytes}, DType::kU8, cuda_device()); };
  Tensor stays;
  StepRunner runner(cuda_device(),
                    [&] {
                      if (!stays.defined()) stays = block();
                      const Tensor passes = block();
                      return Tensor::zeros({1}, DType::kF32, cuda_device());
                    },
                    {});
  runner.run();
  const std::int64_t before = memory_stats(cuda_device()).current;
  runner.capture();
  const std::int64_t reserved = memory_stats(cuda_device()).current - before;
  EXPECT_GE(reserved, kBytes);
  EXPECT_LT(reserved, kBytes + kBytes / 2);
}

TEST_F(TrainReplay, RepeatedWorkLosesNoMemoryBetweenBlocks) {
  constexpr std::int64_t kBytes = 1 << 24;
  const auto block = [](std::int64_t count) {
    return Tensor::empty({count * kBytes}, DType::kU8, cuda_device());
  };
  StepRunner runner(cuda_device(),
                    [&] {
                      Tensor first = block(3);
                      const Tensor lasting = block(1);
                      first = {};
                      const Tensor last = block(4);  // longer than the gap before `lasting`
                      return Tensor::zeros({1}, DType::kF32, cuda_device());
                    },
                    {});
  runner.run();
  runner.run();
  const std::int64_t before = memory_stats(cuda_device()).current;
  runner.capture();
  const std::int64_t reserved = memory_stats(cuda_device()).current - before;
  EXPECT_GE(reserved, 5 * kBytes);
  EXPECT_LE(reserved, 6 * kBytes);
}

TEST(TrainReplayErrors, OnlyCudaIsCaptured) {
  StepRunner replay(kCpu, [] { return Tensor::zeros({1}); }, {});
  EXPECT_EQ(replay.run().item(), 0);
  EXPECT_FALSE(replay.is_current());
  EXPECT_ERROR(replay.capture(), "[cuda_graph] only work on a CUDA device can be captured, got cpu");
  EXPECT_ERROR(replay.replay(), "[cuda_graph] launch() of an empty CUDA graph");
}

}  // namespace
}  // namespace rodeo::test
