/// Device pointers of tensors.
#pragma once

#include <cstdint>

#include "core/cuda/launch.cuh"
#include "core/tensor.h"

namespace rodeo::kernels::cuda {

using namespace rodeo::cuda;

/// The elements of t as the device's type for T, a host or device element type; null where t is undefined.
template <class T>
device_t<T>* device_data(const Tensor& t) {
  return static_cast<device_t<T>*>(t.raw());
}

/// Whether vector loads of `bytes` can read t from its first element on. True for an undefined tensor.
inline bool is_aligned(const Tensor& t, std::size_t bytes = 16) {
  return reinterpret_cast<std::uintptr_t>(t.raw()) % bytes == 0;
}

}  // namespace rodeo::kernels::cuda
