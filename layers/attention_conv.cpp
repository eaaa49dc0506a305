#include "layers/attention_conv.h"

#include <string_view>

#include "layers/aggregate.h"
#include "ops/dense.h"
#include "ops/heads.h"

namespace rodeo {

AttentionConvOptions attention_options(const ConvOptions& o) {
  return {.in = o.in,
          .out = o.out,
          .heads = o.is_output ? o.out_heads : o.heads,
          .merge = o.is_output ? HeadMerge::kMean : HeadMerge::kConcat,
          .negative_slope = o.negative_slope,
          .dropout = o.attention_dropout,
          .bias = o.bias,
          .form = o.form,
          .sddmm = o.sddmm,
          .spmm = o.spmm,
          .edge_in = o.edge_in};
}

AttentionConv::AttentionConv(const char* name, const AttentionConvOptions& options)
    : name_(name), options_(options) {
  const auto& o = options;
  check(o.in >= 1 && o.out >= 1 && o.heads >= 1, "[", name, "] in, out and heads must be >= 1, got ", o.in,
        ", ", o.out, " and ", o.heads);
  check(o.in_dst >= 0, "[", name, "] in_dst must be >= 0, got ", o.in_dst);
  check(o.edge_in >= 0, "[", name, "] edge_in must be >= 0, got ", o.edge_in);
  check(o.edge_in == 0 || std::string_view(name) != "gat_conv", "[", name,
        "] reads no edge features: edge_in must be 0, got ", o.edge_in);
  check(!o.beta || (o.residual && std::string_view(name) == "transformer_conv"), "[", name,
        "] beta is of the residual of transformer_conv: leave it out");
  check(o.dropout >= 0 && o.dropout < 1, "[", name, "] dropout must be in [0, 1), got ", o.dropout);
}

std::int64_t AttentionConv::width() const {
  return options_.merge == HeadMerge::kConcat ? options_.heads * options_.out : options_.out;
}

std::int64_t AttentionConv::in_dst() const {
  return options_.in_dst > 0 ? options_.in_dst : options_.in;
}

void AttentionConv::register_rest(Random& random, Device device, DType dtype) {
  if (options_.residual && in_dst() != width())
    register_parameter("res.weight", &res_, glorot_uniform(in_dst(), width(), random.next(), dtype, device),
                       TorchLayout::kTransposed);
  if (options_.bias) register_parameter("bias", &b_, Tensor::zeros({width()}, dtype, device));
}

Tensor AttentionConv::glorot_weight(std::int64_t in, Random& random, Device device, DType dtype) const {
  return glorot_uniform(in, options_.heads * options_.out, random.next(), dtype, device);
}

Variable AttentionConv::project(const Features& x, const Variable& w) const {
  return reshape(matmul(x, w), {x.dim(0), options_.heads, options_.out});
}

Variable AttentionConv::merge_heads(const Variable& y) const {
  return options_.merge == HeadMerge::kConcat ? reshape(y, {y.dim(0), width()}) : head_mean(y);
}

Variable AttentionConv::merge(const Variable& y, const Features& x, const EpilogueOptions& then) const {
  Variable out = merge_heads(y);
  if (options_.residual) out = add(out, res_.defined() ? matmul(x, res_) : x.dense());
  const bool nothing = !b_.defined() && then.activation == Activation::kNone && then.dropout == 0;
  return nothing ? out : epilogue(std::move(out), b_, then);
}

void AttentionConv::check_inputs(const Adjacency& adj, const Features& x) const {
  check_node_features(name_, adj, x, options_.in);
  check(options_.in_dst == 0, "[", name_, "] the layer has in_dst ", options_.in_dst,
        ": pass {x_src, x_dst}");
}

void AttentionConv::check_inputs(const Adjacency& adj, const BipartiteFeatures& x) const {
  check_bipartite_features(name_, adj, x, options_.in, in_dst());
}

void AttentionConv::check_edge_features(const Adjacency& adj, const Variable& f) const {
  check(f.defined() || options_.edge_in == 0, "[", name_,
        "] the layer reads edge features: call forward(adj, x, f, key)");
  check(!f.defined() || f.shape() == Shape{adj.num_edges(), options_.edge_in}, "[", name_, "] f must be [",
        adj.num_edges(), ", ", options_.edge_in, "], got ", f.defined() ? f.shape() : Shape{});
}

BipartiteFeatures AttentionConv::both_sides(const ConvGraph& graph, const Features& x) {
  const Features sources(x.dense());
  return {sources, destinations(graph, sources)};
}

AttentionOptions AttentionConv::attention_options(RandomKey key) const {
  return {.negative_slope = options_.negative_slope,
          .dropout = training() ? options_.dropout : 0,
          .key = key,
          .spmm = options_.spmm,
          .form = options_.form,
          .sddmm = options_.sddmm};
}

}  // namespace rodeo
