
#include "train/optimizer_registry.h"
#include "train/task/option_parts.h"

namespace rodeo {
namespace {
using Schedule = LrScheduleOptions;
using Kind = Schedule::Kind;

/// A row has a value only where `applies`.
template <class Applies>
void only_for(TrainOption& row, std::string belongs_to, Applies applies) {
  row.belongs_to = std::move(belongs_to);
  row.get = [get = std::move(row.get), applies](const TrainOptions& o) {
    return applies(o) ? get(o) : OptionValue();
  };
}

void only_with_momentum(TrainOption& row) {
  only_for(row, "--optimizer sgd",
           [](const TrainOptions& o) { return find_optimizer(o.optimizer.name).momentum; });
}

void only_for(TrainOption& row, Kind one, Kind other) {
  std::string kinds = str("--lr-schedule ", name(one), one == other ? "" : str(" or ", name(other)));
  only_for(row, std::move(kinds),
           [=](const TrainOptions& o) { return o.schedule.kind == one || o.schedule.kind == other; });
}

}  // namespace

void add_optimizer_options(OptionGroup training, const ModelEntry& model) {
  training.integer(kRun | kShort, "epochs", &TrainOptions::epochs, 1, "Number of epochs");
  training.number(
      kTraining | kShort, "lr", &TrainOptions::lr, "a number above 0",
      [](double x) { return x > 0 && std::isfinite(x); }, "Learning rate");
  training.not_negative(kTraining, "weight-decay", &TrainOptions::weight_decay,
                        !model.decays_first_layer ? "L2 penalty on all parameters"
                        : !model.conv->traits.hops
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
  only_with_momentum(training.not_negative(kTraining, "momentum", &OptimizerOptions::momentum,
                                           "sgd: momentum, without dampening"));
  only_with_momentum(training.flag(kTraining, "nesterov", &OptimizerOptions::nesterov,
                                   "sgd: Nesterov's form of --momentum"));
}

void add_schedule_options(OptionGroup training) {
  training.choice(kTraining, "lr-schedule", &Schedule::kind,
                  "Learning rate schedule: PyTorch's StepLR, CosineAnnealingLR or ReduceLROnPlateau");
  only_for(training.integer(kTraining, "lr-step", &Schedule::step, 1, "step: epochs between reductions"),
           Kind::kStep, Kind::kStep);
  only_for(training.number(
               kTraining, "lr-factor", &Schedule::factor, "a number in (0, 1]",
               [](double x) { return x > 0 && x <= 1; }, "step, plateau: factor of each reduction"),
           Kind::kStep, Kind::kPlateau);
  TrainOption& period = training.integer(kTraining, "lr-period", &Schedule::period, 0,
                                         "cosine: epochs until the lowest rate; 0: --epochs");
  only_for(period, Kind::kCosine, Kind::kCosine);
  period.default_text = "0";
  only_for(
      training.not_negative(kTraining, "lr-least", &Schedule::least, "cosine, plateau: lowest learning rate"),
      Kind::kCosine, Kind::kPlateau);
  only_for(training.integer(kTraining, "lr-patience", &Schedule::patience, 0,
                            "plateau: evaluations without a lower validation loss before a reduction"),
           Kind::kPlateau, Kind::kPlateau);
  training.not_negative(kTraining, "clip-norm", &TrainOptions::clip_norm,
                        "Clip the norm of all gradients together to this value; 0: no clipping");
  training.two_words(kRun, "on-nan", &TrainOptions::stop_at_nan, "stop", "continue",
                     "If a loss is not finite: stop with exit code 3, or continue");
}

void check_schedule_options(const TrainOptions& o) {
  check(!o.optimizer.nesterov || o.optimizer.momentum > 0, "--nesterov needs --momentum above 0");
}

}  // namespace rodeo
