#include "layers/gat_conv.h"

#include "ops/dense.h"
#include "ops/linear.h"

namespace rodeo {

GatConv::GatConv(const AttentionConvOptions& options, Random& random, Device device, DType dtype)
    : AttentionConv("gat_conv", options) {
  register_parameter("lin.weight", &w_, glorot_weight(random, device, dtype), TorchLayout::kTransposed);
  for (const auto& [name, slot] : {std::pair{"att_dst", &a_dst_}, {"att_src", &a_src_}})
    register_parameter(name, slot, glorot_uniform(options.heads, options.out, random.next(), dtype, device),
                       TorchLayout::kLeadingOne);
  register_rest(random, device, dtype);
}

Variable GatConv::forward(const Adjacency& adj, const Features& x, RandomKey key,
                          const EpilogueOptions& then) const {
  check_inputs(adj, x);
  const Features in = linear_input(x, w_);  // the residual connection reads it too
  const Variable z = project(in, w_);
  return merge(gat_self_attention(adj, z, a_dst_, a_src_, attention_options(key)), in, then);
}

}  // namespace rodeo
