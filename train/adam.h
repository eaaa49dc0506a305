/// The Adam optimiser over groups of parameters.
#pragma once

#include <vector>

#include "core/variable.h"
#include "ops/optim.h"

namespace rodeo {

/// Parameters that share their options.
struct ParameterGroup {
  std::vector<Variable> parameters;
  AdamOptions options;
};

/// The state of the optimiser without the parameters, as copies on the host.
struct AdamState {
  std::vector<Tensor> m, v;  // one for each parameter; undefined before its first gradient
  Tensor steps;              // i64 [parameters + 1]: steps of each parameter; last, calls of step()
};

/// torch.optim.Adam; ops/optim.h has the formula. A step skips parameters without a gradient. Bias correction
/// uses the parameter's own count of steps.
class Adam {
 public:
  /// Throws Error for options out of range, an undefined parameter, a parameter that appears twice, and
  /// parameters on several devices. Move the model to its device first.
  explicit Adam(std::vector<ParameterGroup> groups);

  /// Updates every parameter that has a gradient, in place. Step counts and learning rates are on the device,
  /// so that a step can be captured in a CUDA graph. The first step with a gradient of a parameter allocates
  /// its moments: it throws Error during capture.
  /// clip_norm > 0 clips the norm of all gradients for this step (ops/grad_clip.h); grad() is unchanged.
  void step(double clip_norm = 0);
  /// Drops the gradient of every parameter.
  void zero_grad();
  /// The learning rates of the groups' options, in the order of parameters().
  std::vector<double> first_rates() const;
  /// Sets the learning rate of every parameter from the next step on, also for steps of a captured graph.
  void set_rates(const std::vector<double>& rates);
  /// Number of steps, including replayed ones. Waits for the device.
  std::int64_t step_count() const;
  /// The same count, in device memory.
  const std::int64_t* step_counter() const;
  bool empty() const { return slots_.empty(); }

  /// The parameters of all groups, in order.
  std::vector<Variable> parameters() const;
  AdamState state() const;
  /// Continues from `state`. Throws Error, and changes nothing, if the number, shapes or dtypes of its
  /// parameters differ.
  void restore(const AdamState& state);

 private:
  struct Slot {
    Variable parameter;
    AdamOptions options;
    Tensor m, v;  // moments, allocated at the first gradient
  };
  std::vector<Slot> slots_;
  Tensor steps_;  // [slots + 1], see AdamState
  Tensor lr_;     // [slots]
};

}  // namespace rodeo
