/// Times the kernels that read a tensor.
#pragma once

#include <algorithm>
#include <chrono>
#include <deque>

#include "core/kernel_observer.h"
#include "core/stopwatch.h"
#include "train/step_source.h"

namespace rodeo {

class ReadTimer : public KernelObserver {
 public:
  explicit ReadTimer(Tensor x) : x_(std::move(x)) {}
  void before(const KernelCallInfo& call) override {
    if (reads(call)) watches_.emplace_back(call.device);
  }
  void after(const KernelCallInfo& call) override {
    if (reads(call)) watches_.back().stop();
  }
  /// Waits for the device. Call it once.
  double milliseconds() {
    double sum = 0;
    for (Stopwatch& watch : watches_) sum += watch.milliseconds();
    return sum;
  }

 private:
  bool reads(const KernelCallInfo& call) const {
    return std::ranges::any_of(call.operands, [this](const Tensor& operand) {
      return operand.defined() && operand.shares_memory_with(x_);
    });
  }
  Tensor x_;
  std::deque<Stopwatch> watches_;  // which cannot be moved
};

/// work() of a mini-batch, to whose end the host waits. Adds the time of the kernels that read `features`
/// (undefined: none) to totals.gather_ms, and that of the others to totals.train_ms.
template <class Work>
Tensor timed_parts(BatchTotals& totals, const Tensor& features, Device device, Work&& work) {
  const auto begin = std::chrono::steady_clock::now();
  ReadTimer reads(features);
  Tensor loss;
  if (features.defined()) {
    const ScopedKernelObserver observe(reads);
    loss = work();
  } else {
    loss = work();
  }
  synchronize(device);
  const double gather = reads.milliseconds();
  totals.gather_ms += gather;
  totals.train_ms +=
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count() - gather;
  return loss;
}

}  // namespace rodeo
