/// Batches whose features are read while the batch before trains.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "datasets/neighbor_sampler.h"

namespace rodeo {

/// Begins to read features of nodes `index`, i64 [k]; the function that it returns waits for them, and
/// returns them, [k, n] on the device. Both are called on the stream that reads `index`.
using ReadFeatures = std::function<std::function<Tensor()>(const Tensor& index)>;

/// Batches sample(0) .. sample(count - 1). With `read`, a call returns a batch with its features, and has
/// begun to read those of the next one: two batches are held. Without, it calls sample(at).
class ReadAhead {
 public:
  ReadAhead(std::size_t count, std::function<SampledBatch(std::size_t)> sample, ReadFeatures read);

  /// Batch `at`, in any order: reading ahead helps where `at` grows by one.
  SampledBatch operator()(std::size_t at);

 private:
  struct Begun {
    std::size_t at;
    SampledBatch batch;
    std::function<Tensor()> features;
  };
  Begun begin(std::size_t at) const;

  std::size_t count_;
  std::function<SampledBatch(std::size_t)> sample_;
  ReadFeatures read_;
  std::optional<Begun> next_;
};

}  // namespace rodeo
