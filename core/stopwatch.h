/// Times one stretch of a thread's work on a device.
#pragma once

#include <chrono>

#include "core/device.h"

struct CUevent_st;

namespace rodeo {

/// Starts when it is made: by an event on the device's stream, or by the clock on the CPU.
class Stopwatch {
 public:
  explicit Stopwatch(Device device);
  ~Stopwatch();
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  /// Milliseconds of the work since then; waits for it. To be called once.
  double milliseconds();

 private:
  Device device_;
  CUevent_st* begin_event_ = nullptr;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace rodeo
