/// Descriptions of live allocations, for out-of-memory messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/device.h"
#include "core/dtype.h"
#include "core/shape.h"

namespace rodeo {

/// What an out-of-memory message says about one allocation: shape, dtype, size, and a name or the op that
/// produced it. All live ones are in a process-wide list; every function may be called from any thread.
class AllocationInfo {
 public:
  AllocationInfo();
  ~AllocationInfo();
  AllocationInfo(const AllocationInfo&) = delete;
  AllocationInfo& operator=(const AllocationInfo&) = delete;

  void set_contents(const Shape& shape, DType dtype, Device device, std::int64_t bytes);
  /// "features"; replaces a producer.
  void set_name(std::string_view name);
  /// The recorded op that returned it, or whose gradient rule did. Ignored if there is a name or producer
  /// already. `op` must outlive the allocation (a string literal).
  void set_producer(std::string_view op, bool in_gradient = false);

 private:
  friend std::string describe_largest_allocations(Device device, int max_kinds);
  AllocationInfo *previous_ = nullptr, *next_ = nullptr;
  Shape shape_;
  DType dtype_ = DType::kU8;
  Device device_;
  std::int64_t bytes_ = 0;
  std::string_view label_;
  bool in_gradient_ = false;
};

/// "2 x f32 [2708, 1433] (dropout) 29.61 MiB, i64 [2709] 21.16 KiB". Allocations of equal shape, dtype and
/// label are one kind; lists the max_kinds kinds with the most bytes.
std::string describe_largest_allocations(Device device, int max_kinds);
/// Throws OutOfMemory: the bytes requested, free and in use, and the largest allocations.
[[noreturn]] void fail_out_of_memory(std::size_t bytes, Device device);

}  // namespace rodeo
