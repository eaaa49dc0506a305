/// Elements side by side, and their sums' type.
#pragma once

#include "core/cuda/launch.cuh"

namespace rodeo::kernels::cuda {

using namespace rodeo::cuda;

/// kVec elements that are loaded and stored as one.
template <class T, int kVec>
struct alignas(sizeof(T) * kVec) Pack {
  T value[kVec];
};

template <class T>
__device__ __forceinline__ auto widen(T value) {
  if constexpr (sizeof(T) == 2)
    return static_cast<float>(value);
  else
    return value;
}

}  // namespace rodeo::kernels::cuda
