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
  return attend(adj, project(x), f, key, then);
}

Variable TransformerConv::forward(const Adjacency& adj, const BipartiteFeatures& x, RandomKey key,
                                  const EpilogueOptions& then) const {
  check_inputs(adj, x);
  return attend(adj, project(x), {}, key, then);
}

Variable TransformerConv::convolve(const ConvGraph& graph, Features x, const ConvCall& call) const {
  if (graph.is_whole()) return forward(graph.adj, x, graph.edge_attr, call.key, call.then);
  const BipartiteFeatures both = both_sides(graph, x);
  check_inputs(graph.adj, both);
  return attend(graph.adj, project(both), graph.edge_attr, call.key, call.then);
}

std::vector<Variable> TransformerConv::project(const Features& given,
                                               const std::vector<const Map*>& maps) const {
  const Variable& first = maps.front()->w;
  const Features x = linear_input(given, first);
  const auto is_joined = [&](const Map* map) { return map->w.defined() && map->w.shape() == first.shape(); };
  std::vector<Variable> w, c;
  for (const Map* map : maps) {
    if (!is_joined(map)) continue;
    w.push_back(map->w);
    if (map->c.defined()) c.push_back(map->c);
  }
  const std::vector<Variable> joined = linear_many(x, w, c);
  std::vector<Variable> y;
  std::size_t next = 0;
  for (const Map* map : maps)
    y.push_back(is_joined(map) ? joined[next++] : map->w.defined() ? linear(x, map->w, map->c) : Variable());
  return y;
}

TransformerConv::Projections TransformerConv::project(const Features& x) const {
  const std::vector<Variable> y = project(x, {&query_, &key_, &value_, &skip_});
  return {y[0], y[1], y[2], y[3]};
}

TransformerConv::Projections TransformerConv::project(const BipartiteFeatures& x) const {
  const std::vector<Variable> dst = project(x.dst, {&query_, &skip_}), src = project(x.src, {&key_, &value_});
  return {dst[0], src[0], src[1], dst[1]};
}

Variable TransformerConv::attend(const Adjacency& adj, const Projections& x, const Variable& f, RandomKey key,
                                 const EpilogueOptions& then) const {
  check_edge_features(adj, f);
  const auto heads = [&](const Variable& rows) {
    return reshape(rows, {rows.dim(0), options_.heads, options_.out});
  };
  const Variable edge = f.defined() ? heads(matmul(f, w_edge_)) : Variable();
  const Variable sum =
      dot_attention(adj, heads(x.q), heads(x.k), heads(x.v), {}, edge, attention_options(key));
  Variable y = merge_heads(sum);
  if (!options_.residual) return apply(std::move(y), then);
  if (!options_.beta) return apply(add(y, x.r), then);
  const Variable difference = linear_combination(1, x.r, -1, y);
  const Variable both = concat_columns({y, x.r, linear_combination(1, y, -1, x.r)});
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
