/// The device type, for headers that device.h itself depends on. Include core/device.h instead.
#pragma once

#include <cstdint>
#include <iosfwd>

namespace rodeo {

/// The CPU or one CUDA device.
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

/// Bytes of memory of a machine or device.
struct MemoryRoom {
  std::int64_t free = 0;
  std::int64_t total = 0;
};

}  // namespace rodeo
