#include "layers/dot_gat_conv.h"

#include <cmath>

#include "ops/gcn_norm.h"
#include "ops/sddmm.h"

namespace rodeo {

DotGatConv::DotGatConv(const AttentionConvOptions& options, Random& random, Device device, DType dtype)
    : AttentionConv("dot_gat_conv", options) {
  for (const auto& [name, slot] : {std::pair{"lin_query.weight", &w_query_},
                                   {"lin_key.weight", &w_key_},
                                   {"lin_value.weight", &w_value_}})
    register_parameter(name, slot, glorot_weight(random, device, dtype), TorchLayout::kTransposed);
  register_rest(random, device, dtype);
}

Variable DotGatConv::forward(const Adjacency& adj, const Variable& x, RandomKey key,
                             const EpilogueOptions& then) const {
  check_inputs(adj, x);
  // Scales the matrix, because it is smaller than the nodes and the edges.
  const double scale = 1 / std::sqrt(static_cast<double>(options_.out));
  const Variable w_scaled =
      scale_rows(w_query_, Tensor::full({options_.in}, scale, w_query_.dtype(), x.device()));
  const Variable score = sddmm(adj, project(x, w_scaled), project(x, w_key_));
  return merge(attention_from_scores(adj, score, project(x, w_value_), attention_options(key)), x, then);
}

}  // namespace rodeo
