/// Time of a training step by category: sparse kernels, matrix products and communication.
#pragma once

#include <memory>

#include "core/kernel_observer.h"

namespace rodeo {

/// Sums the durations of the observed kernels by KernelCategory: measured by CUDA events on the device's
/// stream, or by the clock on the CPU. Kernels of KernelCategory::kOther are not timed, so they cost no
/// events.
class CategoryTimer : public KernelObserver {
 public:
  explicit CategoryTimer(Device device);
  ~CategoryTimer() override;

  void before(const KernelCallInfo& call) override;
  void after(const KernelCallInfo& call) override;

  /// Milliseconds spent in kernels of `category` so far, 0 for kOther. Waits for the device.
  double milliseconds(KernelCategory category);

 private:
  struct Times;
  std::unique_ptr<Times> times_;
};

}  // namespace rodeo
