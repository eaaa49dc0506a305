/// The memory blocks behind tensors.
#pragma once

#include <cstddef>
#include <memory>

#include "core/allocation_info.h"
#include "core/device.h"
#include "core/memory_stats.h"

struct CUstream_st;

namespace rodeo {

namespace cuda {
class CudaGraphPool;
}

/// One memory block. The destructor returns it to core/host/block_cache.h (CPU) or to the device's
/// stream-ordered memory pool (CUDA).
struct Storage {
  void* data = nullptr;
  std::size_t bytes = 0;
  Device device;
  CUstream_st* stream = nullptr;  // the block is allocated and freed in the order of this stream
  /// Set if the block belongs to a captured CUDA graph: the pool lives as long as the graph and its blocks.
  std::shared_ptr<cuda::CudaGraphPool> graph_pool;
  /// Set if the memory belongs to someone else (core/external.h), who frees it when this is destroyed.
  std::shared_ptr<void> owner;
  AllocationInfo info;

  Storage() = default;
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  ~Storage();
};

/// At least `bytes` bytes, 64-byte aligned (256 on CUDA), not initialised. Throws OutOfMemory.
std::shared_ptr<Storage> allocate(std::size_t bytes, Device device);

/// While on, new memory is filled with NaN (0xff bytes), so that tests find outputs that are not written.
/// Process-wide.
void set_poison_memory(bool on);

}  // namespace rodeo
