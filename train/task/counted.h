/// Consecutive integers.
#pragma once

#include <numeric>
#include <vector>

#include "core/tensor.h"

namespace rodeo {

/// first, first + 1, ... first + n - 1: i64 [n] on `device`.
inline Tensor counted(std::int64_t n, Device device = kCpu, std::int64_t first = 0) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), first);
  return Tensor::from(all, device);
}

}  // namespace rodeo
