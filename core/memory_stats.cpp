#include "core/memory_stats.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdio>

namespace rodeo {
namespace {

struct Counter {
  std::atomic<std::int64_t> current{0}, peak{0};
  std::atomic<std::int64_t> gauge{0};  // the peak since a MemoryGauge began
};
constexpr int kCounters = 65;  // the CPU, then 64 CUDA devices; any further ones share the last counter

Counter& counter(Device device) {
  static std::array<Counter, kCounters> counters;
  return counters[device.is_cuda() ? std::min(device.index + 1, kCounters - 1) : 0];
}

}  // namespace

MemoryStats memory_stats(Device device) {
  return {counter(device).current, counter(device).peak};
}

void reset_peak_memory(Device device) {
  counter(device).peak = counter(device).current.load();
}

void count_memory(Device device, std::int64_t bytes) {
  Counter& c = counter(device);
  const std::int64_t now = c.current += bytes;
  for (auto* max : {&c.peak, &c.gauge}) {
    std::int64_t value = *max;
    while (now > value && !max->compare_exchange_weak(value, now)) {
    }
  }
}

MemoryGauge::MemoryGauge(Device device) : device_(device), baseline_(counter(device).current) {
  counter(device).gauge = baseline_;
}

std::int64_t MemoryGauge::bytes() const {
  return counter(device_).gauge - baseline_;
}

std::string format_bytes(double bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  while (std::abs(bytes) >= 1024 && unit < 4) bytes /= 1024, ++unit;
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.2f %s", bytes, kUnits[unit]);
  return text;
}

}  // namespace rodeo
