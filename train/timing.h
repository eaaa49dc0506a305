/// Wall-clock times and their statistics.
#pragma once

#include <chrono>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "core/device.h"

namespace rodeo {

/// Milliseconds of f(), including the work it launches. Waits for the device before and after.
template <class F>
double timed(Device device, F&& f) {
  synchronize(device);
  const auto begin = std::chrono::steady_clock::now();
  std::forward<F>(f)();
  synchronize(device);
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

/// Statistics of a sample; NaN if it is empty.
struct Statistics {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  std::size_t count = 0;
  double median = kNone;  // of an even count, the mean of the middle two
  double mean = kNone;
  double p95 = kNone;  // nearest rank: the smallest value that 95 % of the values do not exceed
};
Statistics summarize(std::vector<double> values);

}  // namespace rodeo
