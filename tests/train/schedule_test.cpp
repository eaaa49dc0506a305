#include "train/schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "tests/support/devices.h"
#include "train/task/model_registry.h"
#include "train/task/option_table.h"

namespace rodeo {
namespace {

using Kind = LrScheduleOptions::Kind;

TEST(TrainSchedule, NoneAndStepFollowStepLr) {
  const LrSchedule none({}, {0.5, 0.25});
  EXPECT_EQ(none.rates(1000), (std::vector<double>{0.5, 0.25}));
  // torch.optim.lr_scheduler.StepLR(optimizer, step_size=3, gamma=0.5), in the words of its documentation.
  const LrSchedule step({.kind = Kind::kStep, .step = 3, .factor = 0.5}, {0.5, 0.25});
  const double want[] = {0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.125, 0.125, 0.125, 0.0625};
  for (int epoch = 1; epoch <= 10; ++epoch) {
    EXPECT_DOUBLE_EQ(step.rates(epoch)[0], want[epoch - 1]) << epoch;
    EXPECT_DOUBLE_EQ(step.rates(epoch)[1], want[epoch - 1] / 2);
  }
}

// PyTorch computes each rate from the one before.
TEST(TrainSchedule, CosineFollowsPyTorchsRecursion) {
  const double least = 0.01;
  const int period = 17;
  const LrSchedule cosine({.kind = Kind::kCosine, .period = period, .least = least}, {0.5});
  double rate = 0.5;
  for (int epoch = 1; epoch <= 2 * period; ++epoch) {
    EXPECT_NEAR(cosine.rates(epoch)[0], rate, 1e-12) << epoch;
    const int t = epoch;  // steps taken by the scheduler
    if ((t - 1 - period) % (2 * period) == 0)
      rate += (0.5 - least) * (1 - std::cos(std::numbers::pi / period)) / 2;
    else
      rate = (1 + std::cos(std::numbers::pi * t / period)) /
                 (1 + std::cos(std::numbers::pi * (t - 1) / period)) * (rate - least) +
             least;
  }
  EXPECT_NEAR(cosine.rates(period + 1)[0], least, 1e-15);
}

// ReduceLROnPlateau(patience=2, factor=0.5, min_lr=0.1) by hand.
TEST(TrainSchedule, PlateauReducesAfterPatience) {
  LrSchedule plateau({.kind = Kind::kPlateau, .factor = 0.5, .least = 0.1, .patience = 2}, {0.5});
  const auto after = [&](double loss) {
    plateau.observe(loss);
    return plateau.rates(99)[0];
  };
  EXPECT_EQ(after(1.0), 0.5);
  EXPECT_EQ(after(0.99995), 0.5);  // not lower by 1e-4: the first bad one
  EXPECT_EQ(after(1.5), 0.5);
  EXPECT_EQ(after(1.5), 0.25);  // the third
  EXPECT_EQ(after(std::nan("")), 0.25);
  EXPECT_EQ(after(0.5), 0.25);  // better: counted anew
  EXPECT_EQ(after(0.6), 0.25);
  const std::vector<double> state = plateau.state();
  EXPECT_EQ(after(0.6), 0.25);
  EXPECT_EQ(after(0.6), 0.125);
  for (int i = 0; i < 3; ++i) after(0.6);
  EXPECT_EQ(plateau.rates(1)[0], 0.1);
  for (int i = 0; i < 9; ++i) after(0.6);
  EXPECT_EQ(plateau.rates(1)[0], 0.1);
  plateau.restore(state);
  EXPECT_EQ(after(0.6), 0.25);
  EXPECT_EQ(after(0.6), 0.125);
  EXPECT_ERROR(plateau.restore({1}), "[lr_schedule] the state must have 3 numbers, got 1");
  const double nan = std::nan("");
  for (const double rate : {nan, -1.0, HUGE_VAL})
    EXPECT_ERROR(plateau.restore({rate, 1, 0}),
                 "[lr_schedule] a rate of the state is not finite or negative");
  for (const std::vector<double>& end :
       {std::vector<double>{0.1, nan, 0}, {0.1, 1, nan}, {0.1, 1, 3}, {0.1, 1, -1}})
    EXPECT_ERROR(plateau.restore(end),
                 "[lr_schedule] the state must end with a loss and a count of at most 2");
}

TEST(TrainSchedule, NamesAndRanges) {
  for (const Kind kind : {Kind::kNone, Kind::kStep, Kind::kCosine, Kind::kPlateau})
    EXPECT_EQ(parse_name<LrScheduleOptions::Kind>("--lr-schedule", name(kind)), kind);
  EXPECT_ERROR(parse_name<LrScheduleOptions::Kind>("--lr-schedule", "linear"),
               "--lr-schedule must be none, step, cosine or plateau, got 'linear'");
  EXPECT_ERROR(
      LrSchedule({.kind = Kind::kStep, .step = 0}, {1}),
      "[lr_schedule] step and period must be at least 1, patience and least at least 0, factor in (0, 1]");
}

TEST(TrainSchedule, NoRateIsBelowTheLeast) {
  LrSchedule plateau({.kind = Kind::kPlateau, .factor = 0.5, .least = 0.3, .patience = 0}, {0.5, 0.31, 0.2});
  plateau.observe(1);
  plateau.observe(1);
  EXPECT_EQ(plateau.rates(2), (std::vector<double>{0.3, 0.3, 0.2}));  // a lower one is not raised
  LrSchedule tiny({.kind = Kind::kPlateau, .factor = 0.5, .patience = 0}, {1.5e-8, 3e-8});
  tiny.observe(1);
  tiny.observe(1);
  EXPECT_EQ(tiny.rates(2), (std::vector<double>{1.5e-8, 1.5e-8}));  // changes of at most 1e-8 are left out
  const LrSchedule cosine({.kind = Kind::kCosine, .period = 10, .least = 0.1}, {0.5});
  EXPECT_DOUBLE_EQ(cosine.rates(1)[0], 0.5);
  EXPECT_DOUBLE_EQ(cosine.rates(6)[0], 0.3);
  EXPECT_DOUBLE_EQ(cosine.rates(11)[0], 0.1);
  EXPECT_ERROR(
      LrSchedule({.kind = Kind::kPlateau, .least = -0.1}, {1}),
      "[lr_schedule] step and period must be at least 1, patience and least at least 0, factor in (0, 1]");
}

TEST(TrainSchedule, ThePeriodOfCosineIsThatOfTheEpochsUnlessNamed) {
  const auto period = [](std::vector<GivenOption> given) {
    TrainOptions options = published_options("gcn");
    given.insert(given.end(), {{"lr-schedule", "cosine", ""}, {"epochs", "50", ""}});
    apply_options(given, options);
    return options.schedule.period;
  };
  EXPECT_EQ(period({}), 50);
  EXPECT_EQ(period({{"lr-period", "0", ""}}), 50);
  EXPECT_EQ(period({{"lr-period", "7", ""}}), 7);
}

}  // namespace
}  // namespace rodeo
