/// Where a tensor lives: the CPU or one CUDA device.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>

namespace rodeo {

struct Device {
  enum class Type : std::uint8_t { kCpu, kCuda };
  Type type = Type::kCpu;
  int index = 0;

  bool is_cuda() const { return type == Type::kCuda; }
  bool operator==(const Device&) const = default;
};

inline constexpr Device kCpu{};
inline Device cuda_device(int index = 0) {
  return {Device::Type::kCuda, index};
}

/// "cpu" or "cuda:0".
std::ostream& operator<<(std::ostream& out, Device device);

/// CUDA devices of this machine; 0 in a CPU-only build, without a driver that it can use, a GPU or cuBLASLt.
int cuda_device_count();

/// Why "auto" is the CPU: no CUDA device, or this build has no code for the first one. Empty when it is not.
std::string cuda_absence_reason();

/// "auto" (the first CUDA device, else the CPU), "cpu", "cuda" or "cuda:i".
/// Throws Error for anything else, and for a CUDA device that is not there or has no code in this build.
Device parse_device(std::string_view text);

/// The product name: "NVIDIA H200", or the processor's name and the number of OpenMP threads.
std::string describe(Device device);

/// Bytes of tensors on a device, now and at most since the last reset.
struct MemoryStats {
  std::int64_t current = 0;
  std::int64_t peak = 0;
};
MemoryStats memory_stats(Device device);
void reset_peak_memory(Device device);

/// Memory of the machine or device, and what of it nobody uses; the limits of process and container count.
struct MemoryRoom {
  std::int64_t free = 0;
  std::int64_t total = 0;
};
MemoryRoom memory_room(Device device);

/// Waits until all work of this thread on `device` is done.
void synchronize(Device device);

}  // namespace rodeo
