#include "layers/dot_gat_conv.h"

#include <cmath>

#include "ops/gcn_norm.h"
#include "ops/sddmm.h"

namespace rodeo {

DotGatConv::DotGatConv(const AttentionConvOptions& options, Random& random, Device device, DType dtype)
    : AttentionConv("dot_gat_conv", options) {
  const auto register_weight = [&](const char* name, Variable* slot, std::int64_t in) {
    register_parameter(name, slot, glorot_weight(in, random, device, dtype), TorchLayout::kTransposed);
  };
  register_weight("lin_query.weight", &w_query_, in_dst());
  register_weight("lin_key.weight", &w_key_, options.in);
  register_weight("lin_value.weight", &w_value_, options.in);
  register_rest(random, device, dtype);
}

Variable DotGatConv::forward(const Adjacency& adj, const Variable& x, RandomKey key,
                             const EpilogueOptions& then) const {
  check_inputs(adj, Features(x));
  return attend(adj, {x, x}, key, then);
}

Variable DotGatConv::forward(const Adjacency& adj, const BipartiteFeatures& x, RandomKey key,
                             const EpilogueOptions& then) const {
  check_inputs(adj, x);
  return attend(adj, x, key, then);
}

Variable DotGatConv::convolve(const ConvGraph& graph, Features x, const ConvCall& call) const {
  return graph.is_whole() ? forward(graph.adj, x.dense(), call.key, call.then)
                          : forward(graph.adj, both_sides(graph, x), call.key, call.then);
}

Variable DotGatConv::attend(const Adjacency& adj, const BipartiteFeatures& x, RandomKey key,
                            const EpilogueOptions& then) const {
  // Scales the matrix, because it is smaller than the nodes and the edges.
  const double scale = 1 / std::sqrt(static_cast<double>(options_.out));
  const Variable w_scaled =
      scale_rows(w_query_, Tensor::full({in_dst()}, scale, w_query_.dtype(), w_query_.device()));
  const Variable score =
      sddmm(adj, project(x.dst, w_scaled), project(x.src, w_key_), SddmmOp::kDot, {}, options_.sddmm);
  return merge(attention_from_scores(adj, score, project(x.src, w_value_), attention_options(key)), x.dst,
               then);
}

}  // namespace rodeo
