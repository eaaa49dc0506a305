/// Time of a training step by part: sparse kernels, matrix products and communication.
#pragma once

#include <memory>

#include "core/kernel_observer.h"

namespace rodeo {

/// Sums the durations of the observed kernels by KernelPart: measured by CUDA events on the device's stream,
/// or by the clock on the CPU. Kernels of KernelPart::kOther are not timed, so they cost no events.
class PartTimer : public KernelObserver {
 public:
  explicit PartTimer(Device device);
  ~PartTimer() override;

  void before(const KernelCallInfo& call) override;
  void after(const KernelCallInfo& call) override;

  /// Milliseconds spent in kernels of `part` so far, 0 for kOther. Waits for the device.
  double milliseconds(KernelPart part);

 private:
  struct Times;
  std::unique_ptr<Times> times_;
};

}  // namespace rodeo
