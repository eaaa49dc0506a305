/// Range checks of indices in kernels.
#pragma once

#include <cstdint>

#include "core/cuda/index_fault.h"

namespace rodeo::cuda {

/// Whether value is in [0, limit). If not, tells the host, unless a fault is pending already.
__device__ __forceinline__ bool is_index(std::int64_t value, std::int64_t limit, std::int64_t position,
                                         const IndexCheck& check) {
  if (static_cast<std::uint64_t>(value) < static_cast<std::uint64_t>(limit)) return true;
  volatile IndexFault* fault = check.fault;
  if (atomicCAS(&check.fault->state, 0, 1) == 0) {
    fault->op = check.op, fault->input = check.input;
    fault->position = position, fault->value = value, fault->limit = limit;
    __threadfence_system();
    fault->state = 2;
  }
  return false;
}

}  // namespace rodeo::cuda
