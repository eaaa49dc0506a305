#include "train/trainer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "models/gcn.h"
#include "ops/convert.h"
#include "ops/dense.h"
#include "tests/support/devices.h"

namespace rodeo {
namespace {

/// A ring of `n` nodes whose class is the half it lies in, with random features: learnt by heart or not at
/// all.
struct Ring {
  explicit Ring(std::int64_t n, Device device = kCpu) {
    std::vector<std::int64_t> row, col, labels, ids;
    for (std::int64_t i = 0; i < n; ++i) {
      row.insert(row.end(), {i, (i + 1) % n});
      col.insert(col.end(), {(i + 1) % n, i});
      labels.push_back(i < n / 2 ? 0 : 1);
      ids.push_back(i);
    }
    graph = gcn_norm(coo_to_csr(Tensor::from(row, device), Tensor::from(col, device), n, n).adj);
    x = Variable(uniform({n, kFeatures}, -1, 1, {7, 0}, DType::kF32, device));
    label = Tensor::from(labels);
    const Tensor all = Tensor::from(ids);
    split = {all, all, all};
  }
  static constexpr std::int64_t kFeatures = 24;
  GcnGraph graph;
  Variable x;
  Tensor label;
  Split split;
};

struct Outcome {
  TrainSummary summary;
  std::vector<double> losses;
  std::vector<std::vector<float>> parameters;
};

Outcome run_gcn(const Ring& ring, double dropout, const TrainerOptions& options, std::uint64_t seed = 3) {
  Gcn model({.in = Ring::kFeatures, .hidden = 16, .classes = 2, .dropout = dropout, .spmm = {}}, Random(seed),
            ring.x.device());
  Trainer trainer(
      model, [&] { return model.forward(ring.graph, ring.x); }, {{model.parameters(), {.lr = 0.05}}},
      ring.label, ring.split, options);
  Outcome run;
  run.summary = trainer.fit([&](const EpochReport& report) { run.losses.push_back(report.loss); });
  for (const Variable& p : model.parameters()) run.parameters.push_back(p.value().to_vector<float>());
  return run;
}

TEST(TrainLoop, LearnsASmallGraphByHeart) {
  const Outcome run = run_gcn(Ring(20), 0, {.epochs = 200});
  EXPECT_EQ(run.summary.last.train, 1);
  EXPECT_EQ(run.summary.best.test, 1);
  EXPECT_LT(run.losses.back(), 0.05 * run.losses.front());
}

TEST(TrainLoop, SameSeedGivesTheSameBits) {
  const Ring ring(50);
  const Outcome a = run_gcn(ring, 0.5, {.epochs = 20}), b = run_gcn(ring, 0.5, {.epochs = 20});
  EXPECT_EQ(a.losses, b.losses);
  EXPECT_EQ(a.parameters, b.parameters);
  EXPECT_NE(a.losses, run_gcn(ring, 0.5, {.epochs = 20}, 4).losses);
}

TEST(TrainLoop, EveryOptimizerLearns) {
  const Ring ring(20);
  std::vector<std::vector<double>> all;
  for (const OptimizerEntry& entry : optimizer_registry()) {
    const Outcome run = run_gcn(ring, 0, {.epochs = 200, .optimizer = {std::string(entry.name), 0.9}});
    EXPECT_LT(run.losses.back(), 0.2 * run.losses.front()) << entry.name;
    all.push_back(run.losses);
  }
  EXPECT_EQ(all[0], run_gcn(ring, 0, {.epochs = 200}).losses) << "the default is Adam";
  EXPECT_EQ(all[0], all[1]) << "AdamW is Adam without weight decay";
  EXPECT_NE(all[0], all[2]);
}

TEST(TrainLoop, EvaluationDoesNotChangeTraining) {
  const Ring ring(50);
  EXPECT_EQ(run_gcn(ring, 0.5, {.epochs = 20}).losses,
            run_gcn(ring, 0.5, {.epochs = 20, .eval_every = 20}).losses);
}

TEST(TrainLoop, CpuAndCudaAgreeOnTheLossCurve) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device: " << cuda_absence_reason();
  const TrainerOptions options{.epochs = 20};
  const Outcome cpu = run_gcn(Ring(500), 0, options), cuda = run_gcn(Ring(500, cuda_device()), 0, options);
  for (std::size_t i = 0; i < cpu.losses.size(); ++i)
    EXPECT_NEAR(cuda.losses[i], cpu.losses[i], 1e-4 * cpu.losses[i]) << "epoch " << i + 1;
}

TEST(TrainLoop, ScheduleAndClippingReachTheParameters) {
  for (const bool cuda : {false, true}) {
    if (cuda && cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device: " << cuda_absence_reason();
    const Ring ring(50, cuda ? cuda_device() : kCpu);
    const auto losses = [&](const LrScheduleOptions& schedule, double clip_norm, bool graph = true) {
      TrainerOptions options{.epochs = 20};
      options.cuda_graph = graph;
      options.schedule = schedule;
      options.clip_norm = clip_norm;
      return run_gcn(ring, 0.5, options).losses;
    };
    using Kind = LrScheduleOptions::Kind;
    const std::vector<double> plain = losses({}, 0);
    EXPECT_EQ(losses({.kind = Kind::kStep, .step = 3, .factor = 1}, 1e6), plain);
    const std::vector<double> halved = losses({.kind = Kind::kStep, .step = 6, .factor = 0.5}, 0);
    // The seventh epoch is the first with another rate, the eighth the first that shows it.
    EXPECT_TRUE(std::equal(plain.begin(), plain.begin() + 7, halved.begin()));
    EXPECT_NE(plain[7], halved[7]);
    EXPECT_NE(losses({}, 1e-6)[2], plain[2]);
    EXPECT_EQ(losses({.kind = Kind::kCosine, .period = 20}, 0.01),
              losses({.kind = Kind::kCosine, .period = 20}, 0.01, /*graph=*/false));
  }
}

TEST(TrainLoop, TimesWarmUpAndProfiledEpochsApart) {
  const TrainSummary summary = run_gcn(Ring(20), 0, {.epochs = 30}).summary;
  EXPECT_EQ(summary.epochs, 30);
  EXPECT_EQ(summary.warmup_ms.size(), 3u);
  EXPECT_EQ(summary.epoch_ms.count, 24u);  // without epochs 5, 15 and 25
  EXPECT_EQ(summary.evaluation_ms.count, 30u);
  for (const Statistics& part : {summary.parts.sparse, summary.parts.gemm, summary.parts.other}) {
    EXPECT_EQ(part.count, 3u);
    EXPECT_GT(part.median, 0);
  }
  EXPECT_GT(summary.peak_bytes, 20 * 16 * 4);
}

TEST(TrainLoop, ShortRunHasNoStatistics) {
  const TrainSummary summary = run_gcn(Ring(20), 0, {.epochs = 2}).summary;
  EXPECT_EQ(summary.warmup_ms.size(), 2u);
  EXPECT_EQ(summary.epoch_ms.count, 0u);
  EXPECT_TRUE(std::isnan(summary.epoch_ms.median));
  EXPECT_EQ(summary.parts.sparse.count, 0u);
}

/// A model that answers evaluations from a script: the logit of class 0, epoch by epoch, for each of two
/// nodes. Node 0 is the validation node, node 1 the test node; both are of class 0, so a positive logit is
/// right and a larger one has a lower loss.
class Script : public Module {
 public:
  struct Line {
    float val, test;
  };
  explicit Script(std::vector<Line> lines) : lines_(std::move(lines)) {
    register_parameter("logits", &logits_, Tensor::zeros({2, 2}));
  }
  Variable forward() {
    if (training()) return logits_;
    const auto [val, test] = lines_.at(next_++);
    return Variable(Tensor::from(std::vector<float>{val, 0, test, 0}, {2, 2}));
  }
  std::size_t evaluations() const { return next_; }
  void set_logits(float value) { logits_.set_value(Tensor::full({2, 2}, value)); }

 private:
  Variable logits_;  // [2, 2]
  std::vector<Line> lines_;
  std::size_t next_ = 0;
};

TrainSummary run_script(Script& script, const TrainerOptions& options,
                        const std::function<void(const EpochReport&)>& on_epoch = {}) {
  const Tensor first = Tensor::from(std::vector<std::int64_t>{0}),
               second = Tensor::from(std::vector<std::int64_t>{1});
  Trainer trainer(
      script, [&] { return script.forward(); }, {{script.parameters(), {}}},
      Tensor::from(std::vector<std::int64_t>{0, 0}), {first, first, second}, options);
  return trainer.fit(on_epoch);
}

TEST(TrainLoop, BestEpochIsByValidationAccuracyThenLossThenFirst) {
  Script script({{-1, 1}, {1, 1}, {2, -1}, {2, 1}, {1.5, 1}, {-3, 1}});
  std::vector<int> best;
  const TrainSummary summary = run_script(
      script, {.epochs = 6}, [&](const EpochReport& report) { best.push_back(report.best_epoch); });
  EXPECT_EQ(best, (std::vector<int>{1, 2, 3, 3, 3, 3}));
  EXPECT_EQ(summary.best_epoch, 3);
  EXPECT_EQ(summary.best.val, 1);
  EXPECT_EQ(summary.best.test, 0);
  EXPECT_NEAR(summary.best.val_loss, std::log1p(std::exp(-2.0)), 1e-6);
  EXPECT_EQ(summary.last.val, 0);
  EXPECT_EQ(summary.last.test, 1);
}

TEST(TrainLoop, StopsWhenPatienceEnds) {
  Script script({{1, 1}, {2, 1}, {2, 1}, {1, 1}, {0.5, 1}, {9, 1}});
  const TrainSummary summary = run_script(script, {.epochs = 6, .patience = 3});
  EXPECT_EQ(summary.epochs, 5);
  EXPECT_EQ(summary.best_epoch, 2);
}

// Both nodes are validated on. Accuracy is best in epoch 1, the loss is lowest in epoch 3.
TEST(TrainLoop, PatienceCountsFromTheLowestLossWhereAsked) {
  const Tensor both = Tensor::from(std::vector<std::int64_t>{0, 1});
  const auto run = [&](bool on_loss) {
    Script script({{0.1f, 0.1f}, {1, -0.1f}, {3, -0.1f}, {3, -0.3f}, {3, -0.2f}, {9, 9}, {9, 9}});
    Trainer trainer(script, [&] { return script.forward(); }, {{script.parameters(), {}}},
                    Tensor::zeros({2}, DType::kI64), {both, both, both},
                    {.epochs = 7, .patience = 2, .stop_on_loss = on_loss});
    return trainer.fit();
  };
  EXPECT_EQ(run(false).epochs, 3);
  EXPECT_EQ(run(true).epochs, 5);
  EXPECT_EQ(run(true).best_epoch, 1) << "the best epoch is still that of accuracy";
}

// The best epoch is 3, and 4 epochs of patience have passed after 7, between the evaluations of 6 and 9.
TEST(TrainLoop, AResumedRunEndsWhereTheWholeOneDoes) {
  const Tensor node = Tensor::zeros({1}, DType::kI64);
  struct Case {
    int from, ends;
    std::size_t evaluations;
  };
  for (const auto& [from, ends, evaluations] : {Case{0, 9, 3}, {6, 9, 1}, {7, 9, 1}, {8, 9, 1}, {9, 9, 0}}) {
    Script script(from == 0 ? std::vector<Script::Line>{{9, 1}, {1, 1}, {1, 1}}
                            : std::vector<Script::Line>{{1, 1}});
    Trainer trainer(script, [&] { return script.forward(); }, {{script.parameters(), {}}},
                    Tensor::zeros({2}, DType::kI64), {node, node, node},
                    {.epochs = 20, .eval_every = 3, .patience = 4});
    TrainerState state = trainer.state();
    state.epoch = from;
    state.best_epoch = state.lowest_loss_epoch = std::min(from, 3);
    state.best = {.train = 1, .val = 1, .test = 1, .val_loss = 1e-9};
    trainer.restore(state);
    EXPECT_EQ(trainer.fit().epochs, ends) << from;
    EXPECT_EQ(script.evaluations(), evaluations) << from;
  }
}

TEST(TrainLoop, EvaluatesEveryFewEpochsAndTheLast) {
  Script script({{1, 1}, {2, 1}, {3, 1}});
  std::vector<int> evaluated;
  const TrainSummary summary =
      run_script(script, {.epochs = 7, .eval_every = 3}, [&](const EpochReport& report) {
        if (report.evaluation) evaluated.push_back(report.epoch);
      });
  EXPECT_EQ(evaluated, (std::vector<int>{3, 6, 7}));
  EXPECT_EQ(summary.best_epoch, 7);
}

TEST(TrainLoop, ProfilesTheMiddleOfEachInterval) {
  Script script(std::vector<Script::Line>(30, {1, 1}));
  std::vector<int> profiled;
  run_script(script, {.epochs = 30, .warmup_epochs = 5, .profile_every = 10}, [&](const EpochReport& report) {
    if (report.parts) profiled.push_back(report.epoch);
  });
  EXPECT_EQ(profiled, (std::vector<int>{15, 25})) << "5 is a warm-up epoch";
}

TEST(TrainLoop, TellsTheRateOfEachEpoch) {
  std::vector<double> rates;
  Script script({{1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}});
  TrainerOptions options{.epochs = 5};
  options.schedule = {.kind = LrScheduleOptions::Kind::kStep, .step = 2, .factor = 0.5};
  run_script(script, options, [&](const EpochReport& report) { rates.push_back(report.lr); });
  EXPECT_EQ(rates, (std::vector<double>{0.01, 0.01, 0.005, 0.005, 0.0025}));
}

// The validation nodes have the other class: their loss rises while that of training falls.
TEST(TrainLoop, APlateauIsThatOfTheValidationLossWhereItIsKnown) {
  Ring ring(40);
  std::vector<std::int64_t> even, odd;
  for (std::int64_t i = 0; i < 40; ++i) (i % 2 == 0 ? even : odd).push_back(i);
  for (const std::int64_t i : odd) ring.label.data<std::int64_t>()[i] ^= 1;
  ring.split = {Tensor::from(even), Tensor::from(odd), Tensor::from(odd)};
  const LrScheduleOptions plateau{.kind = LrScheduleOptions::Kind::kPlateau, .factor = 0.5, .patience = 2};
  for (const int every : {1, 3}) {
    Gcn model({.in = Ring::kFeatures, .hidden = 16, .classes = 2, .dropout = 0, .spmm = {}}, Random(3));
    Trainer trainer(model, [&] { return model.forward(ring.graph, ring.x); },
                    {{model.parameters(), {.lr = 0.05}}}, ring.label, ring.split,
                    {.epochs = 60, .eval_every = every, .schedule = plateau});
    LrSchedule want(plateau, {0.05});
    std::vector<double> losses;
    trainer.fit([&](const EpochReport& report) {
      EXPECT_EQ(report.lr, want.rates(report.epoch)[0]) << report.epoch;
      EXPECT_EQ(report.evaluation.has_value(), report.epoch % every == 0);
      if (report.evaluation) want.observe(report.evaluation->val_loss);
      losses.push_back(report.loss);
    });
    EXPECT_LT(want.rates(60)[0], 0.02) << every;
    EXPECT_TRUE(std::ranges::is_sorted(losses, std::greater())) << every;
  }
}

TEST(TrainLoop, StopsWhereItIsTold) {
  Script script({{1, 1}, {1, 1}});
  TrainerOptions options{.epochs = 100};
  options.eval_every = 3;
  int asked = 0;
  options.stop = [&] { return ++asked == 4; };
  const TrainSummary summary = run_script(script, options);
  EXPECT_TRUE(summary.stopped);
  EXPECT_EQ(summary.epochs, 4);
  EXPECT_EQ(script.evaluations(), 2u) << "the last epoch is evaluated";
  Script whole({{1, 1}, {1, 1}});
  EXPECT_FALSE(run_script(whole, {.epochs = 1, .stop = [] { return true; }}).stopped) << "it had ended";
}

TEST(TrainLoop, StopsAtALossThatIsNotANumber) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Script training({{1, 1}, {1, 1}, {1, 1}});
  const auto spoil = [&](const EpochReport& report) {
    if (report.epoch == 3) training.set_logits(nan);
  };
  EXPECT_ERROR(run_script(training, {.epochs = 9}, spoil),
               "[train] the training loss is nan in epoch 4: try a smaller learning rate");
  Script evaluation({{1, 1}, {nan, 1}});
  EXPECT_ERROR(run_script(evaluation, {.epochs = 9}),
               "[train] the validation loss is nan in epoch 2: try a smaller learning rate");
}

TEST(TrainLoop, RejectsWhatItCannotTrain) {
  const Tensor nodes = Tensor::zeros({2}, DType::kI64), none = nodes.slice(0, 0);
  Script script({});
  const auto make = [&](const Split& split, const TrainerOptions& options) {
    Trainer(
        script, [&] { return script.forward(); }, {{script.parameters(), {}}}, nodes, split, options);
  };
  EXPECT_NO_THROW(make({nodes, nodes, none}, {}));
  EXPECT_ERROR(make({none, nodes, nodes}, {}), "[train] the split has no training nodes");
  EXPECT_ERROR(make({nodes, none, nodes}, {}), "[train] the split has no validation nodes");
  EXPECT_ERROR(make({nodes, nodes, nodes}, {.epochs = 0}),
               "[train] epochs and eval_every must be at least 1, got 0 and 1");
  EXPECT_ERROR(make({nodes, nodes, nodes}, {.patience = -1}),
               "[train] patience, warmup_epochs and profile_every must not be negative");
  EXPECT_ERROR(Trainer(script, [&] { return script.forward(); }, {}, nodes, {nodes, nodes, nodes}),
               "[train] there are no parameters to train");
  Module empty;
  EXPECT_ERROR(Trainer(empty, [] { return Variable(); }, {}, nodes, {nodes, nodes, nodes}),
               "[train] the model has no parameters");
}

TEST(TrainLoop, StatisticsAreMedianMeanAndNearestRank) {
  std::vector<double> values;
  for (int i = 100; i >= 1; --i) values.push_back(i);
  EXPECT_EQ(summarize(values).median, 50.5);
  EXPECT_EQ(summarize(values).mean, 50.5);
  EXPECT_EQ(summarize(values).p95, 95);
  EXPECT_EQ(summarize({3, 1, 2}).median, 2);
  EXPECT_EQ(summarize({3, 1, 2}).p95, 3);
  EXPECT_EQ(summarize({4}).p95, 4);
}

}  // namespace
}  // namespace rodeo
