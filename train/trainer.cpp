#include "train/trainer.h"

#include <cmath>
#include <utility>

#include "core/profile.h"
#include "train/objective.h"

namespace rodeo {
namespace {

Device device_of(const Module& model) {
  const std::vector<Variable> parameters = model.parameters();
  check(!parameters.empty(), "[train] the model has no parameters");
  return parameters.front().device();
}

bool better(const Evaluation& a, const Evaluation& b) {
  return a.val > b.val || (a.val == b.val && a.val_loss < b.val_loss);
}

void check_loss(double loss, const char* nodes, int epoch) {
  check(std::isfinite(loss), "[train] the ", nodes, " loss is ", std::abs(loss), " in epoch ", epoch,
        ": try a smaller learning rate");  // abs: a NaN has a sign
}

}  // namespace

Trainer::Trainer(Module& model, std::function<Variable()> forward, std::vector<ParameterGroup> groups,
                 const Tensor& label, const Split& split, const TrainerOptions& options)
    : model_(model),
      forward_(std::move(forward)),
      adam_(std::move(groups)),
      device_(device_of(model)),
      label_(label.to(device_)),
      split_{split.train.to(device_), split.val.to(device_), split.test.to(device_)},
      options_(options) {
  check(options.epochs >= 1 && options.eval_every >= 1,
        "[train] epochs and eval_every must be at least 1, got ", options.epochs, " and ",
        options.eval_every);
  check(options.patience >= 0 && options.warmup_epochs >= 0 && options.profile_every >= 0,
        "[train] patience, warmup_epochs and profile_every must not be negative");
  check(split_.train.defined() && split_.train.numel() > 0, "[train] the split has no training nodes");
  check(split_.val.defined() && split_.val.numel() > 0, "[train] the split has no validation nodes");
  check(split_.test.defined(), "[train] the split has undefined test nodes");
}

Tensor Trainer::step() {
  adam_.zero_grad();
  const Variable loss = classification_loss(forward_(), label_, split_.train);
  loss.backward();
  adam_.step();
  return loss.value();
}

Evaluation Trainer::evaluate() {
  const NoGrad no_grad;
  model_.eval();
  const Tensor scores = scores_of(forward_().value(), label_);
  model_.train();
  return {.train = score(scores, label_, split_.train),
          .val = score(scores, label_, split_.val),
          .test = score(scores, label_, split_.test),
          .val_loss = score_loss(scores, label_, split_.val)};
}

TrainSummary Trainer::fit(const std::function<void(const EpochReport&)>& on_epoch) {
  TrainSummary summary;
  std::vector<double> epoch_ms, evaluation_ms, sparse_ms, gemm_ms, other_ms;
  reset_peak_memory(device_);
  model_.train();
  for (int epoch = 1; epoch <= options_.epochs; ++epoch) {
    EpochReport report;
    report.epoch = epoch;
    report.epochs = options_.epochs;
    const bool warmup = epoch <= options_.warmup_epochs;
    // Halfway between the tens, so that a run of a few epochs has its parts too.
    const int every = options_.profile_every;
    std::optional<Profile> profile;
    if (!warmup && every > 0 && epoch % every == every / 2) profile.emplace(device_);

    Tensor loss;
    report.ms = timed(device_, [&] { loss = step(); });
    if (profile) {
      sparse_ms.push_back(profile->milliseconds(Part::kSpmm));
      gemm_ms.push_back(profile->milliseconds(Part::kGemm));
      other_ms.push_back(report.ms - sparse_ms.back() - gemm_ms.back());
      profile.reset();
    } else {
      (warmup ? summary.warmup_ms : epoch_ms).push_back(report.ms);
    }
    report.loss = loss.item();
    check_loss(report.loss, "training", epoch);

    if (epoch % options_.eval_every == 0 || epoch == options_.epochs) {
      evaluation_ms.push_back(timed(device_, [&] { summary.last = evaluate(); }));
      check_loss(summary.last.val_loss, "validation", epoch);
      report.evaluation = summary.last;
      if (summary.best_epoch == 0 || better(summary.last, summary.best)) {
        summary.best_epoch = epoch;
        summary.best = summary.last;
      }
    }
    summary.epochs = epoch;
    report.best_epoch = summary.best_epoch;
    report.best = summary.best;
    if (on_epoch) on_epoch(report);
    if (report.evaluation && options_.patience > 0 && epoch - summary.best_epoch >= options_.patience) break;
  }
  summary.epoch_ms = summarize(std::move(epoch_ms));
  summary.evaluation_ms = summarize(std::move(evaluation_ms));
  summary.parts = {summarize(std::move(sparse_ms)), summarize(std::move(gemm_ms)),
                   summarize(std::move(other_ms))};
  summary.peak_bytes = memory_stats(device_).peak;
  return summary;
}

}  // namespace rodeo
