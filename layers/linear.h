#pragma once

#include "core/random.h"
#include "layers/module.h"
#include "ops/features.h"

namespace rodeo {

/// y = x W + b.   x [m, in] -> [m, out].   Initial values uniform in +-1 / sqrt(in), as torch.nn.Linear.
class Linear : public Module {
 public:
  Linear(std::int64_t in, std::int64_t out, Random& random, bool bias = true, Device device = kCpu,
         DType dtype = DType::kF32);
  Variable forward(const Features& x) const;

  const Variable& weight() const { return w_; }
  const Variable& bias() const { return b_; }

 private:
  Variable w_;  // [in, out]  "weight", PyTorch's transposed
  Variable b_;  // [out]      "bias"; undefined without bias
};

}  // namespace rodeo
