/// Times the kernels that read some tensors.
#pragma once

#include <algorithm>
#include <deque>
#include <optional>
#include <vector>

#include "core/kernel_observer.h"
#include "core/stopwatch.h"
#include "train/step_source.h"
#include "train/timing.h"

namespace rodeo {

class ReadTimer : public KernelObserver {
 public:
  explicit ReadTimer(std::vector<Tensor> x) : x_(std::move(x)) {}
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
      return operand.defined() &&
             std::ranges::any_of(x_, [&](const Tensor& x) { return operand.shares_memory_with(x); });
    });
  }
  std::vector<Tensor> x_;
  std::deque<Stopwatch> watches_;  // which cannot be moved
};

/// work() of a mini-batch, to whose end the host waits. Adds the time of the kernels that read `features`
/// (empty: none) to totals.gather_ms, and that of the others to totals.train_ms.
template <class Work>
Tensor timed_parts(BatchTotals& totals, const std::vector<Tensor>& features, Device device, Work&& work) {
  ReadTimer reads(features);
  Tensor loss;
  const double all = timed(device, [&] {
    std::optional<ScopedKernelObserver> observe;
    if (!features.empty()) observe.emplace(reads);
    loss = work();
  });
  const double gather = reads.milliseconds();
  totals.gather_ms += gather;
  totals.train_ms += all - gather;
  return loss;
}

}  // namespace rodeo
