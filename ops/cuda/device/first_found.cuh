/// The first position that a kernel finds, whatever the order of its threads.
#pragma once

#include <utility>

#include "core/tensor.h"

namespace rodeo::kernels::cuda {

using Position = unsigned long long;  // the type of atomicMin

/// The smallest position that the kernels of run(Position* first) pass to atomicMin(first, ...), or -1 if
/// they pass none. Synchronises with the device.
template <class Run>
std::int64_t first_found(Device device, Run&& run) {
  const Tensor first = Tensor::full({}, -1, DType::kI64, device);  // the largest Position
  std::forward<Run>(run)(static_cast<Position*>(first.raw()));
  return first.to_vector<std::int64_t>()[0];
}

}  // namespace rodeo::kernels::cuda
