#include "layers/linear.h"

#include <cmath>

#include "ops/dense.h"

namespace rodeo {

Linear::Linear(std::int64_t in, std::int64_t out, Random& random, bool bias, Device device, DType dtype) {
  check(in >= 1 && out >= 1, "[linear] sizes must be >= 1, got ", in, " -> ", out);
  const double bound = 1 / std::sqrt(static_cast<double>(in));
  register_parameter("weight", &w_, uniform({in, out}, -bound, bound, random.next(), dtype, device),
                     TorchLayout::kTransposed);
  if (bias) register_parameter("bias", &b_, uniform({out}, -bound, bound, random.next(), dtype, device));
}

Variable Linear::forward(const Features& x) const {
  const Variable y = matmul(x, w_);
  return b_.defined() ? add_bias(y, b_) : y;
}

}  // namespace rodeo
