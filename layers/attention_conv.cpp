#include "layers/attention_conv.h"

#include "ops/dense.h"
#include "ops/heads.h"

namespace rodeo {

AttentionConv::AttentionConv(const char* name, const AttentionConvOptions& options)
    : name_(name), options_(options) {
  const auto& o = options;
  check(o.in >= 1 && o.out >= 1 && o.heads >= 1, "[", name, "] in, out and heads must be >= 1, got ", o.in,
        ", ", o.out, " and ", o.heads);
  check(o.dropout >= 0 && o.dropout < 1, "[", name, "] dropout must be in [0, 1), got ", o.dropout);
}

std::int64_t AttentionConv::width() const {
  return options_.merge == HeadMerge::kConcat ? options_.heads * options_.out : options_.out;
}

void AttentionConv::register_rest(Random& random, Device device, DType dtype) {
  if (options_.residual && options_.in != width())
    register_parameter("res.weight", &res_,
                       glorot_uniform(options_.in, width(), random.next(), dtype, device),
                       TorchLayout::kTransposed);
  if (options_.bias) register_parameter("bias", &b_, Tensor::zeros({width()}, dtype, device));
}

Tensor AttentionConv::glorot_weight(Random& random, Device device, DType dtype) const {
  return glorot_uniform(options_.in, options_.heads * options_.out, random.next(), dtype, device);
}

Variable AttentionConv::project(const Features& x, const Variable& w) const {
  return reshape(matmul(x, w), {x.dim(0), options_.heads, options_.out});
}

Variable AttentionConv::merge(const Variable& y, const Features& x, const EpilogueOptions& then) const {
  Variable out = options_.merge == HeadMerge::kConcat ? reshape(y, {y.dim(0), width()}) : head_mean(y);
  if (options_.residual) out = add(out, res_.defined() ? matmul(x, res_) : x.dense());
  const bool nothing = !b_.defined() && then.activation == Activation::kNone && then.dropout == 0;
  return nothing ? out : epilogue(out, b_, then);
}

void AttentionConv::check_inputs(const Adjacency& adj, const Features& x) const {
  check(adj.defined(), "[", name_, "] the graph is undefined");
  check(adj.rows() == adj.cols(), "[", name_, "] the graph must be square, got ", adj.rows(), " x ",
        adj.cols());
  const Shape expected{adj.rows(), options_.in};
  check(x.shape() == expected, "[", name_, "] x must be ", expected, ", got ", x.shape());
}

AttentionOptions AttentionConv::attention_options(RandomKey key) const {
  return {.negative_slope = options_.negative_slope,
          .dropout = training() ? options_.dropout : 0,
          .key = key,
          .form = options_.form};
}

}  // namespace rodeo
