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

/// What the next step depends on, but for the parameters: copies on the host.
struct AdamState {
  std::vector<Tensor> m, v;  // one for each parameter; undefined before its first gradient
  Tensor steps;              // i64 [parameters + 1]: of each, and of all
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
  /// With clip_norm above 0, the gradients that it steps by are scaled first (ops/grad_clip.h); grad() stays.
  void step(double clip_norm = 0);
  /// Drops the gradient of every parameter.
  void zero_grad();
  /// The learning rate of every parameter, in the order of parameters(): what the groups said, and another
  /// one from the next step on, also of a captured one.
  std::vector<double> first_rates() const;
  void set_rates(const std::vector<double>& rates);
  /// Calls of step(), replayed ones included. Waits for the device.
  std::int64_t step_count() const;
  /// The same, as an element on the device.
  const std::int64_t* step_counter() const;
  bool empty() const { return slots_.empty(); }

  /// Of all groups, in their order.
  std::vector<Variable> parameters() const;
  AdamState state() const;
  /// Goes on where `state` was taken. Throws Error, before anything is changed, where it is not of as many
  /// parameters, or of others by shape or dtype.
  void restore(const AdamState& state);

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
