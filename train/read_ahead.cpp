#include "train/read_ahead.h"

#include <utility>

namespace rodeo {

ReadAhead::ReadAhead(std::size_t count, std::function<SampledBatch(std::size_t)> sample, ReadFeatures read)
    : count_(count), sample_(std::move(sample)), read_(std::move(read)) {}

ReadAhead::Begun ReadAhead::begin(std::size_t at) const {
  SampledBatch batch = sample_(at);
  std::function<Tensor()> features = read_(batch.inputs());
  return {at, std::move(batch), std::move(features)};
}

SampledBatch ReadAhead::operator()(std::size_t at) {
  if (!read_) return sample_(at);
  Begun now = next_ && next_->at == at ? *std::exchange(next_, std::nullopt) : begin(at);
  if (at + 1 < count_) next_ = begin(at + 1);
  now.batch.features = now.features();
  return std::move(now.batch);
}

}  // namespace rodeo
