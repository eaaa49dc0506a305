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

Variable GcnConv::forward(const GcnGraph& graph, const Features& x, const SpmmOptions& options) const {
  return forward(graph, x, options, {});
}

Variable GcnConv::forward(const GcnGraph& graph, const Features& x, const SpmmOptions& options,
                          const Link& link) const {
  EpilogueOptions then = link.then;
  if (link.input == Link::Input::kPropagated) return epilogue(matmul(x, w_), b_, then, out_);
  const bool is_scaled = link.input == Link::Input::kScaled;
  const auto scaled = [&](const Variable& h) { return is_scaled ? h : scale_rows(h, graph.scale); };
  Variable y;
  if (x.is_sparse()) {
    y = aggregate(graph, matmul(is_scaled ? x : dropout(x, 0, {}, graph.scale), w_), options);
  } else if (in_ < out_) {
    y = matmul(aggregate(graph, scaled(x.dense()), options), w_);
  } else {
    const std::int64_t columns = padded_columns(out_, x.dtype(), x.device());
    y = aggregate(graph, scaled(matmul_padded(x.dense(), w_, columns)), options);
  }
  then.scale = graph.scale;
  return epilogue(y, b_, then, out_);
}

}  // namespace rodeo
