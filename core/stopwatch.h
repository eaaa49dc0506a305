/// Measures the duration of a thread's work on a device.
#pragma once

#include <chrono>

#include "core/device.h"

struct CUevent_st;

namespace rodeo {

/// Starts on construction. Uses CUDA events on the device's stream, or the clock on the CPU.
class Stopwatch {
 public:
  explicit Stopwatch(Device device);
  ~Stopwatch();
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  /// Stops the measurement; milliseconds() may be called later.
  void stop();
  /// Milliseconds up to stop(), or up to this call. Waits for the work. Call it once.
  double milliseconds();

 private:
  Device device_;
  bool stopped_ = false;
  CUevent_st *begin_event_ = nullptr, *end_event_ = nullptr;
  std::chrono::steady_clock::time_point begin_, end_;
};

}  // namespace rodeo
