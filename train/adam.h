/// The Adam optimiser over groups of parameters.
#pragma once

#include <vector>

#include "core/variable.h"
#include "ops/optim.h"

namespace rodeo {

/// Parameters that are updated alike.
struct ParameterGroup {
  std::vector<Variable> parameters;
  AdamOptions options;
};

/// torch.optim.Adam: ops/optim.h says what a step computes. A parameter without a gradient is skipped, and
/// its own count of steps, from which the bias is corrected, stands still.
class Adam {
 public:
  /// Throws Error for options out of range, and where a parameter is undefined or appears twice or is on
  /// another device than the first. Move a model to its device before.
  explicit Adam(std::vector<ParameterGroup> groups);

  /// Updates every parameter that has a gradient, in place. All that changes from step to step is on the
  /// device, so that a step may be captured in a CUDA graph, but for the first one with a gradient of a
  /// parameter: that makes its moments, and throws Error in a capture.
  void step();
  /// Drops the gradient of every parameter.
  void zero_grad();
  /// Calls of step(), replayed ones included. Waits for the device.
  std::int64_t step_count() const;
  /// The same, as an element on the device.
  const std::int64_t* step_counter() const;
  bool empty() const { return slots_.empty(); }

 private:
  struct Slot {
    Variable parameter;
    AdamOptions options;
    Tensor m, v;  // moments, made at the first gradient
  };
  std::vector<Slot> slots_;
  Tensor steps_;  // [slots + 1] and
  Tensor lr_;     // [slots], as adam_step wants them
};

}  // namespace rodeo
