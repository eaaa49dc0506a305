#include "layers/gin_conv.h"

#include "layers/aggregate.h"
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

GinConv::GinConv(std::unique_ptr<Sequential> nn, const GinConvOptions& options, Device device, DType dtype)
    : GinUpdate("gin_conv", std::move(nn), options, device, dtype) {}

Variable GinConv::forward(const Adjacency& adj, const Features& x, SpmmOptions spmm_options) const {
  check(x.shape().rank() == 2, "[gin_conv] x must be a matrix [nodes, n], got ", x.shape());
  check_block_features("gin_conv", adj, x, x.dim(1));
  spmm_options.reduce = Reduce::kSum;
  const Linear* first = nn().first_linear();
  check(first || !x.is_sparse(), "[gin_conv] sparse x needs an nn that begins with a Linear layer");
  const auto with_neighbours = [&](const Variable& h) {
    return add_own(adj.rows() < adj.cols() ? rows(h, 0, adj.rows()) : h, spmm(adj, h, spmm_options));
  };
  if (!first || aggregates_first(x, first->weight(), Reduce::kSum))
    return nn().forward(with_neighbours(x.dense()));
  // ((1 + eps) x + A x) W + b = (1 + eps) x W + A x W + b
  const Variable y = with_neighbours(matmul(x, first->weight()));
  return nn().forward_from(1, first->bias().defined() ? add_bias(y, first->bias()) : y);
}

}  // namespace rodeo
