/// When every kernel of a step ran, how long, and what memory tensors held then.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "core/kernel_observer.h"

namespace rodeo {

struct KernelSpan {
  const char* op;
  std::string_view gradient_of;
  int step = 0;         // as given to begin_step()
  double begin_ms = 0;  // since the timer was made
  double ms = 0;
  std::int64_t bytes = 0;   // of its operands, each counted once
  std::int64_t memory = 0;  // that the device's tensors held meanwhile
};

/// Times by CUDA events on the device's stream, or by the clock on the CPU. In a CUDA build kernels are also
/// NVTX ranges, which Nsight Systems shows. Observes the first `max_steps` steps; later ones cost nothing.
class KernelTimer : public KernelObserver {
 public:
  KernelTimer(Device device, int max_steps);
  ~KernelTimer() override;

  /// Whether there is room for one more; the kernels that follow belong to it.
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
