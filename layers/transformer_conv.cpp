#include "layers/transformer_conv.h"

#include <cmath>

#include "ops/combine.h"
#include "ops/dense.h"
#include "ops/dot_attention.h"
#include "ops/heads.h"
#include "ops/linear.h"
#include "ops/pointwise.h"

namespace rodeo {

TransformerConv::TransformerConv(const AttentionConvOptions& options, Random& random, Device device,
                                 DType dtype)
    : AttentionConv("transformer_conv", options) {
  const auto start = [&](const Shape& shape, std::int64_t in) {
    const double bound = 1 / std::sqrt(static_cast<double>(in));
    return uniform(shape, -bound, bound, random.next(), dtype, device);
  };
  const auto register_map = [&](const std::string& name, Map* map, std::int64_t in, std::int64_t out) {
    register_parameter(name + ".weight", &map->w, start({in, out}, in), TorchLayout::kTransposed);
    if (options.bias) register_parameter(name + ".bias", &map->c, start({out}, in));
  };
  const std::int64_t wide = options.heads * options.out;
  register_map("lin_key", &key_, options.in, wide);
  register_map("lin_query", &query_, in_dst(), wide);
  register_map("lin_value", &value_, options.in, wide);
  if (options.edge_in > 0)
    register_parameter("lin_edge.weight", &w_edge_, start({options.edge_in, wide}, options.edge_in),
                       TorchLayout::kTransposed);
  if (options.residual) register_map("lin_skip", &skip_, in_dst(), width());
  if (options.beta)
    register_parameter("lin_beta.weight", &w_beta_, start({3 * width(), 1}, 3 * width()),
                       TorchLayout::kTransposed);
}

Variable TransformerConv::forward(const Adjacency& adj, const Features& x, RandomKey key,
                                  const EpilogueOptions& then) const {
  return forward(adj, x, Variable(), key, then);
}

Variable TransformerConv::forward(const Adjacency& adj, const Features& x, const Variable& f, RandomKey key,
                                  const EpilogueOptions& then) const {
  check_inputs(adj, x);
  const Features in = linear_input(x, query_.w);  // several products read it
  return attend(adj, {in, in}, f, key, then);
}

Variable TransformerConv::forward(const Adjacency& adj, const BipartiteFeatures& x, RandomKey key,
                                  const EpilogueOptions& then) const {
  check_inputs(adj, x);
  return attend(adj, {linear_input(x.src, key_.w), linear_input(x.dst, query_.w)}, {}, key, then);
}

Variable TransformerConv::convolve(const ConvGraph& graph, Features x, const ConvCall& call) const {
  if (graph.is_whole()) return forward(graph.adj, x, graph.edge_attr, call.key, call.then);
  const BipartiteFeatures both = both_sides(graph, x);
  check_inputs(graph.adj, both);
  return attend(graph.adj, both, graph.edge_attr, call.key, call.then);
}

Variable TransformerConv::attend(const Adjacency& adj, const BipartiteFeatures& x, const Variable& f,
                                 RandomKey key, const EpilogueOptions& then) const {
  check_edge_features(adj, f);
  const std::int64_t heads = options_.heads, out = options_.out;
  const auto project = [&](const Features& in, const Map& map) {
    return reshape(linear(in, map.w, map.c), {in.dim(0), heads, out});
  };
  const Variable edge = f.defined() ? reshape(matmul(f, w_edge_), {adj.num_edges(), heads, out}) : Variable();
  const Variable sum = dot_attention(adj, project(x.dst, query_), project(x.src, key_),
                                     project(x.src, value_), {}, edge, attention_options(key));
  Variable y = merge_heads(sum);
  if (!options_.residual) return apply(std::move(y), then);
  const Variable skip = linear(x.dst, skip_.w, skip_.c);
  if (!options_.beta) return apply(add(y, skip), then);
  const Variable difference = linear_combination(1, skip, -1, y);
  const Variable both = concat_columns({y, skip, linear_combination(1, y, -1, skip)});
  const Variable ones(Tensor::full({1, width()}, 1, y.dtype(), y.device()));
  return apply(add(y, mul(matmul(sigmoid(matmul(both, w_beta_)), ones), difference)), then);
}

const ConvKind kTransformer{.name = "transformer",
                            .traits = {.heads = true,
                                       .attention_form = true,
                                       .dot_scores = true,
                                       .random = true,
                                       .edge_features = true},
                            .make = [](const ConvOptions& o, Random& random, Device device,
                                       DType dtype) -> std::unique_ptr<Convolution> {
                              AttentionConvOptions options = attention_options(o);
                              options.residual = true;
                              return std::make_unique<TransformerConv>(options, random, device, dtype);
                            }};

}  // namespace rodeo
