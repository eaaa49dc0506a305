#include <algorithm>

#include "train/optimizer_registry.h"
#include "train/task/option_parts.h"

namespace rodeo {
namespace {

using enum OptionRole;
using enum OptionFlag;
using Schedule = LrScheduleOptions;
using Kind = Schedule::Kind;

/// A row has a value only for the kinds of schedule that use it.
void only_for(TrainOption& row, Kind one, Kind other) {
  row.get = [get = std::move(row.get), one, other](const TrainOptions& o) {
    return o.schedule.kind == one || o.schedule.kind == other ? get(o) : OptionValue();
  };
}

/// A row has a value only for optimizers with momentum.
void only_with_momentum(TrainOption& row) {
  row.get = [get = std::move(row.get)](const TrainOptions& o) {
    return find_optimizer(o.optimizer.name).momentum ? get(o) : OptionValue();
  };
}

}  // namespace

void add_optimizer_options(OptionGroup training, const ModelTraits& traits) {
  training.integer(kRun | kShort, "epochs", field(&TrainOptions::epochs), 1, "Number of epochs");
  training.number(
      kTraining | kShort, "lr", field(&TrainOptions::lr), "a number above 0",
      [](double x) { return x > 0 && std::isfinite(x); }, "Learning rate");
  training.not_negative(kTraining, "weight-decay", field(&TrainOptions::weight_decay),
                        traits.decay_all ? "L2 penalty on all parameters"
                        : traits.trunk
                            ? "L2 penalty on the first layer; on all parameters with --norm, --residual, "
                              "--jk, --act, --pre-linear, --post-linear or --layer-dropout"
                            : "L2 penalty on the first layer");
  training.add(
      kTraining, "optimizer", "PyTorch's Adam, AdamW (weight decay apart from the gradient) or SGD",
      optimizer_names("|"), [](const TrainOptions& o) { return o.optimizer.name; },
      [](TrainOptions& o, const std::string& text) {
        check_option_has_value("optimizer", text);
        o.optimizer.name = find_optimizer(text).name;
      });
  only_with_momentum(training.not_negative(kTraining, "momentum", field(&OptimizerOptions::momentum),
                                           "sgd: momentum, without dampening"));
  only_with_momentum(training.flag(kTraining, "nesterov", field(&OptimizerOptions::nesterov),
                                   "sgd: Nesterov's form of --momentum"));
}

void add_schedule_options(OptionGroup training) {
  training.choice(kTraining, "lr-schedule", field(&Schedule::kind),
                  "Learning rate schedule: PyTorch's StepLR, CosineAnnealingLR or ReduceLROnPlateau");
  only_for(
      training.integer(kTraining, "lr-step", field(&Schedule::step), 1, "step: epochs between reductions"),
      Kind::kStep, Kind::kStep);
  only_for(training.number(
               kTraining, "lr-factor", field(&Schedule::factor), "a number in (0, 1]",
               [](double x) { return x > 0 && x <= 1; }, "step, plateau: factor of each reduction"),
           Kind::kStep, Kind::kPlateau);
  TrainOption& period = training.integer(kTraining, "lr-period", field(&Schedule::period), 0,
                                         "cosine: epochs until the lowest rate; 0: --epochs");
  only_for(period, Kind::kCosine, Kind::kCosine);
  period.default_text = "0";
  only_for(training.not_negative(kTraining, "lr-least", field(&Schedule::least),
                                 "cosine, plateau: lowest learning rate"),
           Kind::kCosine, Kind::kPlateau);
  only_for(training.integer(kTraining, "lr-patience", field(&Schedule::patience), 0,
                            "plateau: evaluations without a lower validation loss before a reduction"),
           Kind::kPlateau, Kind::kPlateau);
  training.not_negative(kTraining, "clip-norm", field(&TrainOptions::clip_norm),
                        "Clip the norm of all gradients together to this value; 0: no clipping");
  training.two_words(kRun, "on-nan", field(&TrainOptions::stop_at_nan), "stop", "continue",
                     "If a loss is not finite: stop with exit code 3, or continue");
}

void check_schedule_options(const TrainOptions& o, const std::vector<GivenOption>& given) {
  const auto is_given = [&](std::string_view option) {
    return std::any_of(given.begin(), given.end(), [&](const GivenOption& g) { return g.name == option; });
  };
  for (const char* option : {"momentum", "nesterov"})
    check(!is_given(option) || find_optimizer(o.optimizer.name).momentum, "--", option,
          " belongs to --optimizer sgd");
  check(!o.optimizer.nesterov || o.optimizer.momentum > 0, "--nesterov needs --momentum above 0");
  const auto belongs = [&](std::string_view option, Kind one, Kind other, const char* kinds) {
    check(!is_given(option) || o.schedule.kind == one || o.schedule.kind == other, "--", option,
          " belongs to --lr-schedule ", kinds);
  };
  belongs("lr-step", Kind::kStep, Kind::kStep, "step");
  belongs("lr-factor", Kind::kStep, Kind::kPlateau, "step or plateau");
  belongs("lr-period", Kind::kCosine, Kind::kCosine, "cosine");
  belongs("lr-least", Kind::kCosine, Kind::kPlateau, "cosine or plateau");
  belongs("lr-patience", Kind::kPlateau, Kind::kPlateau, "plateau");
}

}  // namespace rodeo
