#include "layers/gin_conv.h"

#include "layers/aggregate.h"
#include "layers/norm.h"
#include "ops/combine.h"
#include "ops/dense.h"

namespace rodeo {

GinUpdate::GinUpdate(const char* layer, std::unique_ptr<Sequential> nn, const GinConvOptions& options,
                     Device device, DType dtype)
    : nn_(std::move(nn)) {
  check(nn_ != nullptr, "[", layer, "] nn must not be null");
  const Tensor eps = Tensor::full({1}, options.eps, dtype, device);
  if (options.train_eps)
    register_parameter("eps", &learned_eps_, eps);
  else
    register_buffer("eps", &fixed_eps_, eps);
  register_module("nn", nn_.get());
}

Variable GinUpdate::add_own(const Variable& x, const Variable& sum) const {
  return scale_add(learned_eps_.defined() ? learned_eps_ : Variable(fixed_eps_), x, sum);
}

std::int64_t GinUpdate::width() const {
  const Linear* const last = nn().last_linear();
  return last ? last->weight().dim(1) : 0;
}

GinConv::GinConv(std::unique_ptr<Sequential> nn, const GinConvOptions& options, Device device, DType dtype)
    : GinUpdate("gin_conv", std::move(nn), options, device, dtype) {}

Variable GinConv::forward(const Adjacency& adj, const Features& x, SpmmOptions spmm_options) const {
  return update(adj, x, spmm_options);
}

Variable GinConv::convolve(const ConvGraph& graph, Features x, const ConvCall& call) const {
  return apply(update(graph, x, call.spmm), call.then);
}

Variable GinConv::update(const ConvGraph& graph, const Features& x, SpmmOptions spmm_options) const {
  const Adjacency& adj = graph.adj;
  check(x.shape().rank() == 2, "[gin_conv] x must be a matrix [nodes, n], got ", x.shape());
  check_block_features("gin_conv", adj, x, x.dim(1));
  spmm_options.reduce = Reduce::kSum;
  const Linear* first = nn().first_linear();
  check(first || !x.is_sparse(), "[gin_conv] sparse x needs an nn that begins with a Linear layer");
  const auto with_neighbours = [&](const Variable& h) {
    return add_own(destinations(graph, h).dense(), spmm(adj, h, spmm_options));
  };
  if (!first || aggregates_first(x, first->weight(), Reduce::kSum))
    return nn().forward(with_neighbours(x.dense()));
  // ((1 + eps) x + A x) W + b = (1 + eps) x W + A x W + b
  const Variable y = with_neighbours(matmul(x, first->weight()));
  return nn().forward_from(1, first->bias().defined() ? add_bias(y, first->bias()) : y);
}

std::unique_ptr<Sequential> gin_network(const ConvOptions& options, Random& random, Device device,
                                        DType dtype) {
  const std::int64_t hidden = options.hidden > 0 ? options.hidden : options.out;
  const Sequential::Step rectify = [](const Variable& x) { return relu(x); };
  auto nn = std::make_unique<Sequential>();
  nn->add(std::make_unique<Linear>(options.in, hidden, random, true, device, dtype))
      .add(std::make_unique<BatchNorm>(hidden, BatchNormLayerOptions(), device, dtype))
      .add(rectify)
      .add(std::make_unique<Linear>(hidden, options.out, random, true, device, dtype));
  if (options.ends_with_relu) nn->add(rectify);
  return nn;
}

}  // namespace rodeo
