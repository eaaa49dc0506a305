#pragma once

#include "core/random.h"
#include "layers/module.h"

namespace rodeo {

/// y = x W + b.   x [m, in] -> [m, out].   Glorot weights, zero bias.
class Linear : public Module {
 public:
  Linear(std::int64_t in, std::int64_t out, Random& random, bool bias = true, Device device = kCpu,
         DType dtype = DType::kF32);
  Variable forward(const Variable& x) const;

 private:
  Variable w_;  // [in, out]  "weight"
  Variable b_;  // [out]      "bias"; undefined without bias
};

}  // namespace rodeo
