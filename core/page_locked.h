/// Tensors in host memory that kernels of a device read and write over the bus.
#pragma once

#include "core/tensor.h"

namespace rodeo {

/// A tensor of `device` whose memory is page-locked host memory: operators work on it as on others, as fast
/// as the bus. Its memory is not counted by memory_stats(device). On the CPU: Tensor::empty(). Not
/// initialised. Throws Error where the host has not so much memory to lock.
Tensor page_locked(const Shape& shape, DType dtype, Device device);

}  // namespace rodeo
