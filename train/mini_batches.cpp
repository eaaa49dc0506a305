#include "train/mini_batches.h"

#include "train/sampled_steps.h"

namespace rodeo {

std::shared_ptr<StepSource> make_steps(const MiniBatchTraining& training,
                                       std::unique_ptr<BatchSampler> sampler) {
  SampledStepsOptions options{.read_features = training.read_features, .x = training.x_of_types};
  if (training.x.defined()) options.x.push_back(training.x);
  if (training.parts && !sampler)
    sampler = std::make_unique<PartBatchSampler>(*training.parts, training.ranks);
  if (!sampler && training.can_be_padded) {
    const BatchFraction own = cut_batch(training.batch_size, training.ranks.rank(), training.ranks.size());
    options.padded_targets = own.end - own.begin;
    options.sampler = &training.sampler;
  }
  if (!sampler)
    sampler = std::make_unique<NodeBatchSampler>(training.batches, training.batch_size, training.sampler,
                                                 training.ranks);
  return std::make_shared<SampledSteps>(std::move(sampler), training.sampler.graph().device(), options);
}

}  // namespace rodeo
