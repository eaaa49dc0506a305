/// The memory behind tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/device.h"

struct CUstream_st;

namespace rodeo {

namespace cuda {
class GraphMemory;
}

/// One block of memory, returned when the last tensor on it is gone: to the C library on the CPU, to the
/// device's stream-ordered pool on CUDA.
struct Storage {
  void* data = nullptr;
  std::size_t bytes = 0;
  Device device;
  CUstream_st* stream = nullptr;  // the stream it was taken and is returned on
  /// Where the block belongs to a captured CUDA graph: its memory, which lives as long as graph and blocks.
  std::shared_ptr<cuda::GraphMemory> graph_memory;

  Storage() = default;
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  ~Storage();
};

/// The most that tensors of a device have held since it was made, above what they held then. One at a time.
class MemoryGauge {
 public:
  explicit MemoryGauge(Device device);
  std::int64_t bytes() const;

 private:
  Device device_;
  std::int64_t before_;
};

/// At least `bytes` bytes, 64-byte aligned (256 on CUDA), not initialised. Throws Error when there is no
/// room.
std::shared_ptr<Storage> allocate(std::size_t bytes, Device device);

/// Adds to what memory_stats() reports: for memory that is held in another way than by a Storage.
void count_memory(Device device, std::int64_t bytes);

/// While on, new memory is filled with NaN (0xff bytes), so that a result that was not written shows. For
/// tests.
void set_poison_memory(bool on);

/// "1.50 GiB"
std::string format_bytes(double bytes);

}  // namespace rodeo
