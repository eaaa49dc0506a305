/// The memory behind tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/device.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/shape.h"

struct CUstream_st;

namespace rodeo {

namespace cuda {
class CudaGraphPool;
}

/// What a block is, for the message of one who finds no room: all that are alive are in a list.
class AllocationInfo {
 public:
  AllocationInfo();
  ~AllocationInfo();
  AllocationInfo(const AllocationInfo&) = delete;
  AllocationInfo& operator=(const AllocationInfo&) = delete;

  void write(const Shape& shape, DType dtype, Device device, std::int64_t bytes);
  /// The recorded op that made it, or in whose gradient it was made; the first one counts.
  void write_maker(std::string_view op, bool gradient);
  void write_name(std::string_view name);

 private:
  friend std::string describe_largest_blocks(Device device, int most);
  AllocationInfo *before_ = nullptr, *next_ = nullptr;
  Shape shape_;
  DType dtype_ = DType::kU8;
  Device device_;
  std::int64_t bytes_ = 0;
  std::string_view maker_;
  bool gradient_ = false;
};

/// "2 x f32 [2708, 1433] (dropout) 29.61 MiB, i64 [2709] 21.16 KiB": at most so many kinds.
std::string describe_largest_blocks(Device device, int most);
/// Throws OutOfMemory with all that is known.
[[noreturn]] void fail_out_of_memory(std::size_t bytes, Device device);

/// One block of memory, returned when the last tensor on it is gone: to the C library on the CPU, to the
/// device's stream-ordered pool on CUDA.
struct Storage {
  void* data = nullptr;
  std::size_t bytes = 0;
  Device device;
  CUstream_st* stream = nullptr;  // the stream it was taken and is returned on
  /// Where the block belongs to a captured CUDA graph: its memory, which lives as long as graph and blocks.
  std::shared_ptr<cuda::CudaGraphPool> graph_pool;
  AllocationInfo note;

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

/// At least `bytes` bytes, 64-byte aligned (256 on CUDA), not initialised. Throws OutOfMemory when there is
/// no room.
std::shared_ptr<Storage> allocate(std::size_t bytes, Device device);

/// Adds to what memory_stats() reports: for memory that is held in another way than by a Storage.
void count_memory(Device device, std::int64_t bytes);

/// While on, new memory is filled with NaN (0xff bytes), so that a result that was not written shows. For
/// tests.
void set_poison_memory(bool on);

/// "1.50 GiB"
std::string format_bytes(double bytes);

}  // namespace rodeo
