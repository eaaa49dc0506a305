#include "layers/gat_conv.h"

#include "ops/dense.h"
#include "ops/heads.h"
#include "ops/linear.h"

namespace rodeo {

GatConv::GatConv(const AttentionConvOptions& options, Random& random, Device device, DType dtype)
    : AttentionConv("gat_conv", options) {
  const bool two = options.in_dst > 0;
  register_parameter(two ? "lin_src.weight" : "lin.weight", &w_,
                     glorot_weight(options.in, random, device, dtype), TorchLayout::kTransposed);
  if (two)
    register_parameter("lin_dst.weight", &w_dst_, glorot_weight(options.in_dst, random, device, dtype),
                       TorchLayout::kTransposed);
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

Variable GatConv::forward(const Adjacency& adj, const BipartiteFeatures& x, RandomKey key,
                          const EpilogueOptions& then) const {
  check_inputs(adj, x);
  const Variable& w_dst = w_dst_.defined() ? w_dst_ : w_;
  const Features dst = linear_input(x.dst, w_dst);  // the residual connection reads it too
  const Variable z_dst = project(dst, w_dst), z_src = project(x.src, w_);
  return merge(
      gat_attention(adj, head_dot(z_dst, a_dst_), head_dot(z_src, a_src_), z_src, attention_options(key)),
      dst, then);
}

Variable GatConv::convolve(const ConvGraph& graph, Features x, const ConvCall& call) const {
  return graph.is_whole() ? forward(graph.adj, x, call.key, call.then)
                          : forward(graph.adj, both_sides(graph, x), call.key, call.then);
}

bool GatConv::can_be_padded(const ConvGraph&, const SpmmOptions&) const {
  return options_.form != AttentionForm::kComposed;  // which reads arrays of the edges
}

const ConvKind kGat{
    .name = "gat",
    .traits = {.graph = GraphInput::kSelfLoops, .heads = true, .attention_form = true, .random = true},
    .make = [](const ConvOptions& o, Random& random, Device device,
               DType dtype) -> std::unique_ptr<Convolution> {
      return std::make_unique<GatConv>(attention_options(o), random, device, dtype);
    }};

}  // namespace rodeo
