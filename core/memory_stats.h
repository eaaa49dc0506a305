/// Counters of the bytes that tensors use on each device. Process-wide and thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "core/device_type.h"

namespace rodeo {

/// Bytes of tensors on a device: now, and the peak since the last reset.
struct MemoryStats {
  std::int64_t current = 0;
  std::int64_t peak = 0;
};
MemoryStats memory_stats(Device device);
void reset_peak_memory(Device device);

/// Adds to `current`; negative to subtract.
void count_memory(Device device, std::int64_t bytes);

/// Peak bytes of a device's tensors since construction, above what they used then. All gauges of a device
/// share one counter: use only one at a time.
class MemoryGauge {
 public:
  explicit MemoryGauge(Device device);
  std::int64_t bytes() const;

 private:
  Device device_;
  std::int64_t baseline_;
};

/// "1.50 GiB"
std::string format_bytes(double bytes);

}  // namespace rodeo
