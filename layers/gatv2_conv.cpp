#include "layers/gatv2_conv.h"

#include "ops/dense.h"
#include "ops/gatv2_attention.h"
#include "ops/linear.h"

namespace rodeo {

Gatv2Conv::Gatv2Conv(const AttentionConvOptions& options, Random& random, Device device, DType dtype)
    : AttentionConv("gatv2_conv", options) {
  const std::int64_t heads = options.heads, out = options.out;
  register_parameter("lin_r.weight", &w_dst_, glorot_weight(in_dst(), random, device, dtype),
                     TorchLayout::kTransposed);
  register_parameter("lin_l.weight", &w_src_, glorot_weight(options.in, random, device, dtype),
                     TorchLayout::kTransposed);
  if (options.bias) {
    register_parameter("lin_r.bias", &c_dst_, Tensor::zeros({heads * out}, dtype, device));
    register_parameter("lin_l.bias", &c_src_, Tensor::zeros({heads * out}, dtype, device));
  }
  register_parameter("att", &a_, glorot_uniform(heads, out, random.next(), dtype, device),
                     TorchLayout::kLeadingOne);
  if (options.edge_in > 0)
    register_parameter("lin_edge.weight", &w_edge_, glorot_weight(options.edge_in, random, device, dtype),
                       TorchLayout::kTransposed);
  register_rest(random, device, dtype);
}

Variable Gatv2Conv::forward(const Adjacency& adj, const Features& x, RandomKey key,
                            const EpilogueOptions& then) const {
  check_inputs(adj, x);
  return attend(adj, x, {}, key, then);
}

Variable Gatv2Conv::forward(const Adjacency& adj, const Features& x, const Variable& f, RandomKey key,
                            const EpilogueOptions& then) const {
  check_inputs(adj, x);
  check(f.defined(), "[gatv2_conv] f must be [", adj.num_edges(), ", ", options_.edge_in, "], got ", Shape{});
  return attend(adj, x, f, key, then);
}

Variable Gatv2Conv::forward(const Adjacency& adj, const BipartiteFeatures& x, RandomKey key,
                            const EpilogueOptions& then) const {
  check_inputs(adj, x);
  return attend(adj, x, {}, key, then);
}

Variable Gatv2Conv::attend(const Adjacency& adj, const Features& x, const Variable& f, RandomKey key,
                           const EpilogueOptions& then) const {
  const Features in = linear_input(x, w_dst_);  // the residual reads it, too
  const bool biased = c_dst_.defined();
  const std::vector<Variable> y =
      linear_many(in, {w_dst_, w_src_}, biased ? std::vector{c_dst_, c_src_} : std::vector<Variable>());
  return attend(adj, y[0], y[1], in, f, key, then);
}

Variable Gatv2Conv::attend(const Adjacency& adj, const BipartiteFeatures& x, const Variable& f, RandomKey key,
                           const EpilogueOptions& then) const {
  const Features dst = linear_input(x.dst, w_dst_);
  return attend(adj, linear(dst, w_dst_, c_dst_), linear(x.src, w_src_, c_src_), dst, f, key, then);
}

Variable Gatv2Conv::attend(const Adjacency& adj, const Variable& p, const Variable& q,
                           const Features& residual_x, const Variable& f, RandomKey key,
                           const EpilogueOptions& then) const {
  check_edge_features(adj, f);
  const auto heads = [&](const Variable& rows) {
    return reshape(rows, {rows.dim(0), options_.heads, options_.out});
  };
  const Variable edge = f.defined() ? heads(matmul(f, w_edge_)) : Variable();
  return merge(gatv2_attention(adj, heads(p), heads(q), a_, edge, attention_options(key)), residual_x, then);
}

Variable Gatv2Conv::convolve(const ConvGraph& graph, Features x, const ConvCall& call) const {
  if (graph.is_whole()) {
    check_inputs(graph.adj, x);
    return attend(graph.adj, x, graph.edge_attr, call.key, call.then);
  }
  const BipartiteFeatures both = both_sides(graph, x);
  check_inputs(graph.adj, both);
  return attend(graph.adj, both, graph.edge_attr, call.key, call.then);
}

const ConvKind kGatv2{.name = "gatv2",
                      .traits = {.graph = GraphInput::kSelfLoops,
                                 .heads = true,
                                 .attention_form = true,
                                 .random = true,
                                 .edge_features = true},
                      .make = [](const ConvOptions& o, Random& random, Device device,
                                 DType dtype) -> std::unique_ptr<Convolution> {
                        return std::make_unique<Gatv2Conv>(attention_options(o), random, device, dtype);
                      }};

}  // namespace rodeo
