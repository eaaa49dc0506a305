/// Timing of benchmarks: warm up, then the median of many runs. The L2 is flushed before each run.
#pragma once

#include <algorithm>
#include <chrono>
#include <type_traits>
#include <vector>

#include "core/cuda/runtime.h"
#include "core/tensor.h"

namespace rodeo::bench {

/// Calls f() and then done() while the result of f() still exists, so that the time does not include freeing
/// the result.
template <class F, class Done>
void run_and_keep(F& f, const Done& done) {
  if constexpr (std::is_void_v<decltype(f())>) {
    f();
    done();
  } else {
    [[maybe_unused]] const auto result = f();
    done();
  }
}

constexpr double kShortMilliseconds = 0.05;

/// Milliseconds by CUDA events on the stream of the device, or by the clock on the CPU. f() enqueues the work
/// once. GPU work below 50 us is repeated five times as often, because its times vary more.
template <class F>
double median_milliseconds(Device device, int repeats, F&& f) {
  const std::int64_t flush_bytes = (device.is_cuda() ? 256 : 64) << 20;
  const Tensor flush = Tensor::empty({flush_bytes}, DType::kU8, device);
  for (int i = 0; i < 3; ++i) f();
  synchronize(device);
  std::vector<double> times;
  const auto median = [&times] {
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    return *middle;
  };
  for (int i = 0, count = repeats; i < count; ++i) {
    flush.fill(i);
    if (device.is_cuda()) {
      CUevent_st* begin = cuda::record_event(device);
      run_and_keep(f,
                   [&] { times.push_back(cuda::elapsed_milliseconds(begin, cuda::record_event(device))); });
    } else {
      const auto begin = std::chrono::steady_clock::now();
      run_and_keep(f, [&] {
        times.push_back(
            std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
      });
    }
    if (i + 1 == repeats && device.is_cuda() && median() < kShortMilliseconds) count *= 5;
  }
  return median();
}

}  // namespace rodeo::bench
