#include "layers/gin_conv.h"

#include "layers/aggregate.h"
#include "ops/combine.h"

namespace rodeo {

GinConv::GinConv(std::unique_ptr<Sequential> nn, const GinConvOptions& options, Device device, DType dtype)
    : options_(options), nn_(std::move(nn)) {
  check(nn_ != nullptr, "[gin_conv] nn must not be null");
  const Tensor eps = Tensor::full({1}, options.eps, dtype, device);
  if (options.train_eps)
    register_parameter("eps", &learned_eps_, eps);
  else
    register_buffer("eps", &fixed_eps_, eps);
  register_module("nn", nn_.get());
}

Variable GinConv::forward(const Adjacency& adj, const Variable& x, SpmmOptions spmm_options) const {
  check(x.shape().rank() == 2, "[gin_conv] x must be a matrix [nodes, n], got ", x.shape());
  check_node_features("gin_conv", adj, x, x.dim(1));
  spmm_options.reduce = Reduce::kSum;
  const Variable sum = spmm(adj, x, spmm_options);
  return nn_->forward(scale_add(options_.train_eps ? learned_eps_ : Variable(fixed_eps_), x, sum));
}

}  // namespace rodeo
