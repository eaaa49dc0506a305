/// What check_hdf5_file() and its child process rodeo_h5_check agree on.
#pragma once

#include <cstdint>

namespace rodeo::hdf5 {

struct CheckLimits {
  std::int64_t cpu_seconds, wall_seconds;
  std::int64_t memory_mib;  // of address space, beside what the process has at its start
};

/// Limits for a file of that size. The wall clock is for files on slow disks and for busy machines.
inline CheckLimits check_limits(std::uint64_t bytes) {
  constexpr std::uint64_t kBytesPerSecond = 10'000'000;  // HDF5 converts and decompresses at least as fast
  const auto seconds = static_cast<std::int64_t>(bytes / kBytesPerSecond);
  const auto mib = static_cast<std::int64_t>(bytes >> 20);
  return {.cpu_seconds = 5 + seconds, .wall_seconds = 60 + 10 * seconds, .memory_mib = 1024 + mib};
}

/// Exit code of the child whose allocation failed.
constexpr int kCheckOutOfMemory = 3;

/// The child's last line. Each line before is what it reads next: "the file", "/x".
constexpr const char* kCheckDone = "done";

}  // namespace rodeo::hdf5
