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
  /// Throws Error for options out of range, and where a parameter is undefined or appears twice. Move a model
  /// to its device before.
  explicit Adam(std::vector<ParameterGroup> groups);

  /// Updates every parameter that has a gradient, in place.
  void step();
  /// Drops the gradient of every parameter.
  void zero_grad();
  /// Calls of step().
  std::int64_t step_count() const { return step_count_; }

 private:
  struct Slot {
    Variable parameter;
    AdamOptions options;
    Tensor m, v;  // moments, made at the first gradient
    std::int64_t steps = 0;
  };
  std::vector<Slot> slots_;
  std::int64_t step_count_ = 0;
};

}  // namespace rodeo
