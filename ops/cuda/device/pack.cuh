/// Vectors of elements, and conversion to the accumulator's type.
#pragma once

#include "core/cuda/launch.cuh"

namespace rodeo::kernels::cuda {

using namespace rodeo::cuda;

/// kVec elements, loaded and stored as one vector.
template <class T, int kVec>
struct alignas(sizeof(T) * kVec) Pack {
  T value[kVec];
};

/// f32 for 16-bit elements, else the value itself.
template <class T>
__device__ __forceinline__ auto widen(T value) {
  if constexpr (sizeof(T) == 2)
    return static_cast<float>(value);
  else
    return value;
}

}  // namespace rodeo::kernels::cuda
