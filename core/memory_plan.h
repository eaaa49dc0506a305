/// Places for the blocks of memory of repeated work in one range: where lifetimes are known, no gap between
/// blocks is lost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/device_type.h"

namespace rodeo {

/// A block lives from event `begin` to event `end` of its trace.
struct BlockLife {
  static constexpr std::int64_t kStays = INT64_MAX;
  std::int64_t bytes, begin, end = kStays;
  bool operator==(const BlockLife&) const = default;
};

/// Where each block of a trace begins in a range of `bytes` bytes. Sizes and offsets are multiples of kUnit.
struct MemoryPlan {
  static constexpr std::int64_t kUnit = 512;  // as cudaMallocAsync, because kernels are chosen by alignment
  std::int64_t bytes = 0;
  std::vector<std::int64_t> sizes, offsets;
};

/// The largest blocks come first, each in the lowest gap between those that live with it.
MemoryPlan plan_memory(const std::vector<BlockLife>& blocks);

/// RAII guard: records what this thread allocates on a CUDA device, and when it is freed.
class MemoryTrace {
 public:
  explicit MemoryTrace(Device device) : device_(device), outer_(active()) { active() = this; }
  ~MemoryTrace() { active() = outer_; }
  MemoryTrace(const MemoryTrace&) = delete;
  MemoryTrace& operator=(const MemoryTrace&) = delete;

  const std::vector<BlockLife>& blocks() const { return blocks_; }

  /// The innermost guard of this thread; null if there is none.
  static MemoryTrace*& active();
  void allocated(const void* data, std::size_t bytes, Device device);
  void freed(const void* data) noexcept;

 private:
  Device device_;
  MemoryTrace* outer_;
  std::int64_t events_ = 0;
  std::vector<BlockLife> blocks_;
  std::unordered_map<const void*, std::size_t> live_;  // addresses, and their places in blocks_
};

}  // namespace rodeo
