#pragma once

#include "core/random.h"
#include "layers/module.h"

namespace rodeo {

/// dropout (ops/dense.h) in training mode, the identity in evaluation mode, as torch.nn.Dropout. Every
/// forward in training mode draws a new mask. The masks are those of a generator of its own, which is seeded
/// by one key of `random`. No parameters.
class Dropout : public Module {
 public:
  /// Throws Error for p outside [0, 1).
  Dropout(double p, Random& random);
  /// x of any shape, f64, f32, bf16 or f16.
  Variable forward(const Variable& x);

 private:
  double p_;
  Random random_;
};

}  // namespace rodeo
