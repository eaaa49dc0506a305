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

  /// Ends the stretch here: milliseconds() may come later then, after other work.
  void stop();
  /// Milliseconds of the work up to stop(), or to here; waits for it. To be called once.
  double milliseconds();

 private:
  Device device_;
  bool stopped_ = false;
  CUevent_st *begin_event_ = nullptr, *end_event_ = nullptr;
  std::chrono::steady_clock::time_point begin_, end_;
};

}  // namespace rodeo
