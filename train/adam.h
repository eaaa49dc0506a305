/// Adam and AdamW over groups of parameters.
#pragma once

#include <string>
#include <vector>

#include "train/optimizer.h"

namespace rodeo {

/// torch.optim.Adam; ops/optim.h has the formula. Bias correction uses the parameter's own count of steps.
/// Reads lr, beta1, beta2, eps and weight_decay of its groups. Its state is "m" and "v".
class Adam : public Optimizer {
 public:
  /// Throws Error for options out of range, and as Optimizer does.
  explicit Adam(std::vector<ParameterGroup> groups) : Adam("adam", std::move(groups), false) {}

 protected:
  /// decoupled: weight decay as AdamW has it.
  Adam(std::string name, std::vector<ParameterGroup> groups, bool decoupled);

 private:
  void update(const std::vector<Update>& updates, const Tensor& steps, const Tensor& lr) override;
  bool takes_rows() const override { return true; }
  bool decoupled_;
};

/// torch.optim.AdamW: weight decay shrinks the parameters by lr * weight_decay and is not in the gradients.
class AdamW : public Adam {
 public:
  /// Throws Error as Adam does.
  explicit AdamW(std::vector<ParameterGroup> groups) : Adam("adamw", std::move(groups), true) {}
};

}  // namespace rodeo
