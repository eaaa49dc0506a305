/// Lists of ids.
#pragma once

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "core/tensor.h"

namespace rodeo {

/// first, first + 1, ... first + n - 1: i64 [n] on `device`.
inline Tensor counted(std::int64_t n, Device device = kCpu, std::int64_t first = 0) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), first);
  return Tensor::from(all, device);
}

/// Each of `ids` once, ascending.
inline std::vector<std::int64_t> sorted_unique(std::vector<std::int64_t> ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

}  // namespace rodeo
