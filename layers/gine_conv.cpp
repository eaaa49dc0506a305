#include "layers/gine_conv.h"

#include <utility>

#include "layers/aggregate.h"
#include "ops/dense.h"
#include "ops/edge_sum.h"
#include "ops/sddmm.h"

namespace rodeo {

GineConv::GineConv(std::unique_ptr<Sequential> nn, std::int64_t in, std::int64_t edge_in, Random& random,
                   const GinConvOptions& options, Device device, DType dtype)
    : GinUpdate("gine_conv", std::move(nn), options, device, dtype), in_(in), edge_in_(edge_in) {
  check(in >= 1 && edge_in >= 1, "[gine_conv] in and edge_in must be at least 1, got ", in, " and ", edge_in);
  lin_ = std::make_unique<Linear>(edge_in, in, random, true, device, dtype);
  register_module("lin", lin_.get());
}

Variable GineConv::forward(const Adjacency& adj, const Variable& x, const Variable& f) const {
  return update(ConvGraph(adj, f), x);
}

Variable GineConv::convolve(const ConvGraph& graph, Features x, const ConvCall& call) const {
  return apply(update(graph, x.dense()), call.then);
}

Variable GineConv::update(const ConvGraph& graph, const Variable& x) const {
  const Adjacency& adj = graph.adj;
  const Variable& f = graph.edge_attr;
  check_block_features("gine_conv", adj, Features(x), in_);
  check(f.defined() && f.shape() == Shape{adj.num_edges(), edge_in_}, "[gine_conv] f must be [",
        adj.num_edges(), ", ", edge_in_, "], got ", f.defined() ? f.shape() : Shape{});
  // kAdd of zero rows: x_j at every edge.
  const Variable zero(Tensor::zeros({adj.rows(), in_}, x.dtype(), x.device()));
  const Variable message = relu(add(sddmm(adj, zero, x, SddmmOp::kAdd), lin_->forward(f)));
  return nn().forward(add_own(destinations(graph, x).dense(), edge_sum(adj, message)));
}

const ConvKind kGin{.name = "gin",
                    .traits = {.edge_features = true, .train_eps = true, .batch_norm = true},
                    .make = [](const ConvOptions& o, Random& random, Device device,
                               DType dtype) -> std::unique_ptr<Convolution> {
                      auto nn = gin_network(o, random, device, dtype);
                      const GinConvOptions options{.train_eps = o.train_eps};
                      if (o.edge_in == 0)
                        return std::make_unique<GinConv>(std::move(nn), options, device, dtype);
                      return std::make_unique<GineConv>(std::move(nn), o.in, o.edge_in, random, options,
                                                        device, dtype);
                    }};

}  // namespace rodeo
