#include "core/device.h"

#include <algorithm>
#include <charconv>
#include <fstream>

#include "core/cuda/presence.h"
#include "core/cuda/runtime.h"
#include "core/error.h"
#include "core/host/address_space.h"
#include "core/host/block_cache.h"
#include "core/host/cgroup.h"
#include "core/text.h"
#include "core/threads.h"

namespace rodeo {

int cuda_device_count() {
  return cuda::device_count();
}
std::string cuda_absence_reason() {
  return cuda_device_count() == 0 ? cuda::absence_reason() : cuda::refusal(0);
}

Device parse_device(std::string_view text) {
  if (text == "cpu") return kCpu;
  if (text == "auto") return cuda_absence_reason().empty() ? cuda_device(0) : kCpu;
  constexpr std::string_view kPrefix = "cuda:";
  int index = 0;
  if (text.starts_with(kPrefix)) {
    const std::string_view digits = text.substr(kPrefix.size());
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    if (error != std::errc{} || end != digits.data() + digits.size() || index < 0) index = -1;
  } else if (text != "cuda") {
    index = -1;
  }
  check(index >= 0, "unknown device '", text, "': expected auto, cpu, cuda or cuda:i");
  const int count = cuda_device_count();
  if (count == 0) fail("device '", text, "' is not available: ", cuda_absence_reason());
  check(index < count, "device '", text, "' is not available: this machine has ", count, " CUDA device",
        count == 1 ? "" : "s", " (cuda:0", count == 1 ? "" : " ...", ")");
  const std::string refusal = cuda::refusal(index);
  check(refusal.empty(), "device '", text, "' cannot be used: ", refusal);
  return cuda_device(index);
}

std::string describe(Device device) {
  if (device.is_cuda()) return cuda::device_name(device.index);
  std::string processor = "unknown processor";
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (!line.starts_with("model name")) continue;
    const auto at = line.find(": ");
    if (at != std::string::npos) processor = line.substr(at + 2);
    break;
  }
  const int threads = num_threads();
  return str(processor, ", ", count_of(threads, "thread"));
}

MemoryRoom memory_room(Device device) {
  if (device.is_cuda()) return cuda::memory_room(device);
  MemoryRoom room;
  std::ifstream info("/proc/meminfo");
  std::string name;
  for (std::int64_t kibibytes = 0; info >> name >> kibibytes; info.ignore(64, '\n')) {
    if (name == "MemTotal:") room.total = kibibytes << 10;
    if (name == "MemAvailable:") room.free = kibibytes << 10;
  }
  room = within_control_groups(room);
  // The limit of the process (ulimit -v) may be lower.
  if (const rlim_t limit = address_space_limit(); limit != RLIM_INFINITY) {
    const auto limit_bytes = static_cast<std::int64_t>(limit);
    const std::int64_t left = limit_bytes - static_cast<std::int64_t>(mapped_bytes());
    room.total = std::min(room.total, limit_bytes);
    room.free = std::min(room.free, std::max<std::int64_t>(0, left));
  }
  room.free = std::min(room.total, room.free + static_cast<std::int64_t>(host::waiting_bytes()));
  return room;
}

void empty_cache() {
  host::release_waiting();
  cuda::empty_cache();
}

void synchronize(Device device) {
  if (device.is_cuda()) cuda::synchronize(device);
}

}  // namespace rodeo
