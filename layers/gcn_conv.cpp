#include "layers/gcn_conv.h"

#include <utility>

#include "layers/aggregate.h"
#include "ops/dense.h"
#include "ops/linear.h"

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

Variable GcnConv::forward(const GcnGraph& graph, Features x, const SpmmOptions& options,
                          const Fusion& fusion) const {
  EpilogueOptions then = fusion.epilogue;
  if (fusion.input == Fusion::Input::kPropagated) return linear(x, w_, b_, {.then = then});
  const bool is_scaled = fusion.input == Fusion::Input::kScaled;
  const auto scaled = [&](const Variable& h) { return is_scaled ? h : scale_rows(h, graph.scale); };
  then.pre_scale = graph.scale;
  if (x.is_sparse()) {
    const Features h = is_scaled ? x : dropout(x, 0, {}, graph.scale);
    return epilogue(aggregate(graph, matmul(h, w_), options), b_, then, out_);
  }
  // A (X W) multiplies by A in forward and backward; (A X) W only in forward if X requires no gradient.
  const bool once = !x.requires_grad() && w_.requires_grad() && grad_enabled();
  // What a product has read is freed before the next one allocates its result.
  if (in_ < (once ? 2 * out_ : out_)) {
    Variable h = scaled(x.dense());
    x = {};
    const Variable sum = aggregate(graph, std::exchange(h, {}), options);
    return linear(sum, w_, b_, {.then = then});
  }
  const std::int64_t columns = padded_columns(out_, x.dtype(), x.device());
  const EpilogueOptions first{.pre_scale = is_scaled ? Tensor() : graph.scale};
  const Variable product = linear(x, w_, {}, {.then = first, .columns = columns});
  return epilogue(aggregate(graph, product, options), b_, then, out_);
}

Variable GcnConv::forward(const GcnBlock& block, const Features& x, const SpmmOptions& options,
                          EpilogueOptions then) const {
  check_block_features("gcn_conv", block.adj, x, in_);
  then.pre_scale = block.target_scale;
  if (in_ < out_) return linear(aggregate(block, x.dense(), options), w_, b_, {.then = then});
  return epilogue(aggregate(block, matmul(x, w_), options), b_, then);
}

}  // namespace rodeo
