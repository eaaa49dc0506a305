#include "core/storage.h"

#include <array>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/cuda/runtime.h"

namespace rodeo {
namespace {

// The counters of a device, the CPU first. More devices than this share the last.
struct Counter {
  std::atomic<std::int64_t> current{0}, peak{0}, gauge{0};
};
constexpr int kCounters = 65;

Counter& counter(Device device) {
  static std::array<Counter, kCounters> counters;
  return counters[device.is_cuda() ? std::min(device.index + 1, kCounters - 1) : 0];
}

constexpr std::size_t kAlignment = 64;
std::atomic<bool> poisoning{false};

}  // namespace

void count_memory(Device device, std::int64_t bytes) {
  Counter& c = counter(device);
  const std::int64_t now = c.current += bytes;
  for (auto* most : {&c.peak, &c.gauge}) {
    std::int64_t value = *most;
    while (now > value && !most->compare_exchange_weak(value, now)) {
    }
  }
}

MemoryGauge::MemoryGauge(Device device) : device_(device), before_(counter(device).current) {
  counter(device).gauge = before_;
}

std::int64_t MemoryGauge::bytes() const {
  return counter(device_).gauge - before_;
}

Storage::~Storage() {
  if (!data) return;
  if (device.is_cuda())
    cuda::release(*this);
  else
    std::free(data);
  if (!graph_pool) count_memory(device, -static_cast<std::int64_t>(bytes));
}

std::shared_ptr<Storage> allocate(std::size_t bytes, Device device) {
  auto storage = std::make_shared<Storage>();
  storage->device = device;
  const std::size_t rounded = (std::max<std::size_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
  if (device.is_cuda()) {
    cuda::allocate(rounded, *storage);
  } else {
    storage->data = std::aligned_alloc(kAlignment, rounded);
    if (!storage->data) fail_out_of_memory(bytes, kCpu);
  }
  storage->bytes = rounded;
  if (poisoning) {
    if (device.is_cuda())
      cuda::poison(storage->data, rounded, storage->stream);
    else
      std::memset(storage->data, 0xff, rounded);
  }
  // A captured graph's memory is counted as a whole, by those who hold it.
  if (!storage->graph_pool) count_memory(device, static_cast<std::int64_t>(rounded));
  return storage;
}

void set_poison_memory(bool on) {
  poisoning = on;
}

MemoryStats memory_stats(Device device) {
  return {counter(device).current, counter(device).peak};
}

void reset_peak_memory(Device device) {
  counter(device).peak = counter(device).current.load();
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
