/// Start time, duration and memory of every kernel of a training step.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "core/kernel_observer.h"

namespace rodeo {

struct KernelSpan {
  const char* op;
  std::string_view gradient_of;  // as in KernelCallInfo
  int step = 0;                  // as given to begin_step()
  double begin_ms = 0;           // since the construction of the timer
  double ms = 0;
  std::int64_t bytes = 0;   // of all operands, each counted once
  std::int64_t memory = 0;  // bytes of all tensors on the device
};

/// Measures by CUDA events on the device's stream, or by the clock on the CPU. In a CUDA build every kernel
/// is also an NVTX range for Nsight Systems. Accepts `max_steps` steps.
class KernelTimer : public KernelObserver {
 public:
  KernelTimer(Device device, int max_steps);
  ~KernelTimer() override;

  /// Assigns the kernels that follow to `step`. Returns false, and does nothing, after max_steps steps.
  bool begin_step(int step);
  void before(const KernelCallInfo& call) override;
  void after(const KernelCallInfo& call) override;

  int steps() const { return steps_; }
  /// Waits for the device.
  const std::vector<KernelSpan>& spans();

 private:
  struct Marks;
  Device device_;
  int max_steps_, steps_ = 0, step_ = 0;
  std::unique_ptr<Marks> marks_;
  std::vector<KernelSpan> spans_;
};

}  // namespace rodeo
