/// The parts of a run's training, without a Trainer.
#pragma once

#include <vector>

#include "ops/combine.h"
#include "train/task/node_model.h"

namespace rodeo::test {

/// Steps of epoch 1.
class Steps {
 public:
  explicit Steps(const NodeRun& run) : module_(*run.model.module), parts_(trainer_parts(run)) {
    if (!parts_.source) parts_.source = std::make_shared<WholeGraph>();
    parts_.source->begin_epoch({});
  }
  ~Steps() { parts_.source->end_epoch(); }
  Steps(const Steps&) = delete;
  Steps& operator=(const Steps&) = delete;

  std::int64_t size() const { return parts_.source->num_batches(); }
  /// The loss of the next step, of the examples of this rank; in the mode that the module is in.
  Variable loss() {
    const StepInput& in = *parts_.source->next();
    const Variable predictions = parts_.forward(in);
    const bool empty = !in.of_all.empty() && in.examples.host.empty();
    return empty ? no_loss(predictions) : parts_.criterion->loss(predictions, in.examples);
  }
  /// Their part in the loss of all ranks.
  Variable part_of_loss() {
    const StepInput& in = *parts_.source->next();
    const Variable predictions = parts_.forward(in);
    const Criterion& criterion = *parts_.criterion;
    const double own = in.of_all.empty() ? criterion.training_terms() : criterion.terms(in.examples.host),
                 all = in.of_all.empty() ? parts_.exchange.sum(own, predictions.device())
                                         : criterion.terms(in.of_all);
    if (own == 0) return no_loss(predictions);
    const Variable mean = criterion.loss(predictions, in.examples);
    return linear_combination(own / all, mean, 0, mean);
  }
  /// Metrics and losses of the three sets: six numbers.
  std::vector<double> metrics() const {
    const NoGrad no_grad;
    const bool training = module_.training();
    module_.eval();
    const Tensor out =
        (parts_.metrics ? parts_.metrics : parts_.criterion)->metrics(parts_.forward(StepInput()).value());
    if (training) module_.train();
    return out.to_vector<double>();
  }

 private:
  Module& module_;
  TrainerParts parts_;
};

inline Variable first_loss(const NodeRun& run) {
  return Steps(run).loss();
}
inline std::vector<double> metrics_of(const NodeRun& run) {
  return Steps(run).metrics();
}

}  // namespace rodeo::test
