/// Memory blocks of a CUDA device: from the stream-ordered memory pool or, during a capture, from the pool of
/// the CUDA graph. device_memory_stub.cpp replaces it in a CPU-only build.
#pragma once

#include "core/cuda/device_block.h"
#include "core/device_type.h"

namespace rodeo::cuda {

/// At least `bytes` bytes, on this thread's stream. Throws OutOfMemory.
DeviceBlock allocate(std::size_t bytes, Device device);
void release(const DeviceBlock& block, Device device) noexcept;
/// Fills the block with 0xff bytes.
void poison(const DeviceBlock& block);

}  // namespace rodeo::cuda
