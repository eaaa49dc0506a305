/// Stochastic gradient descent with momentum over groups of parameters.
#pragma once

#include <vector>

#include "train/optimizer.h"

namespace rodeo {

/// torch.optim.SGD without dampening; ops/optim.h has the formula. Reads lr, weight_decay, momentum and
/// nesterov of its groups. Its state is "momentum", and nothing where no group has momentum.
class Sgd : public Optimizer {
 public:
  /// Throws Error for a negative momentum, for nesterov without momentum, and as Optimizer does.
  explicit Sgd(std::vector<ParameterGroup> groups);

 private:
  void update(const std::vector<Update>& updates, const Tensor& steps, const Tensor& lr) override;
};

}  // namespace rodeo
