/// Small decisions of several ranks.
#pragma once

#include <vector>

#include "core/communicator.h"

namespace rodeo {

/// Sums, or the largest, of each of some numbers over all ranks, f64, i64 or i32. A collective call, which
/// waits for `device`: they are exchanged there.
template <class T>
std::vector<T> over_ranks(const Communicator& ranks, const std::vector<T>& own,
                          Reduction reduction = Reduction::kSum, Device device = kCpu) {
  const Tensor all = Tensor::from(own, device);
  ranks.all_reduce(all, reduction);
  return all.to_vector<T>();
}

}  // namespace rodeo
