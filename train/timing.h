/// Wall-clock times, and what is said of many of them.
#pragma once

#include <chrono>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "core/device.h"

namespace rodeo {

/// Milliseconds that f() takes, from an idle device to an idle device.
template <class F>
double timed(Device device, F&& f) {
  synchronize(device);
  const auto begin = std::chrono::steady_clock::now();
  std::forward<F>(f)();
  synchronize(device);
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

/// NaN without any value.
struct Statistics {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  std::size_t count = 0;
  double median = kNone;  // the mean of the middle two of an even count
  double mean = kNone;
  double p95 = kNone;  // nearest rank: the smallest value that 95 % of the values do not exceed
};
Statistics summarize(std::vector<double> values);

}  // namespace rodeo
