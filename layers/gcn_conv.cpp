#include "layers/gcn_conv.h"

#include "ops/dense.h"

namespace rodeo {

GcnConv::GcnConv(std::int64_t in, std::int64_t out, Random& random, bool bias, Device device, DType dtype)
    : in_(in), out_(out) {
  check(in >= 1 && out >= 1, "[gcn_conv] sizes must be >= 1, got ", in, " -> ", out);
  register_parameter("lin.weight", &w_, glorot_uniform(in, out, random.next(), dtype, device),
                     TorchLayout::kTransposed);
  if (bias) register_parameter("bias", &b_, Tensor::zeros({out}, dtype, device));
}

Variable GcnConv::forward(const GcnGraph& graph, const Variable& x, const SpmmOptions& options) const {
  const Variable y =
      in_ < out_ ? matmul(propagate(graph, x, options), w_) : propagate(graph, matmul(x, w_), options);
  return b_.defined() ? add_bias(y, b_) : y;
}

}  // namespace rodeo
