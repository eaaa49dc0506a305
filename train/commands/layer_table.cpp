#include "train/commands/layer_table.h"

#include "layers/appnp.h"
#include "layers/gat_conv.h"
#include "layers/gatv2_conv.h"
#include "layers/gcn2_conv.h"
#include "layers/gcn_conv.h"
#include "layers/gin_conv.h"
#include "layers/gine_conv.h"
#include "layers/graph_conv.h"
#include "layers/linear.h"
#include "layers/norm.h"
#include "layers/pna_conv.h"
#include "layers/sage_conv.h"
#include "layers/sg_conv.h"
#include "layers/transformer_conv.h"
#include "ops/dense.h"
#include "ops/gcn_norm.h"

namespace rodeo {
namespace {

/// forward(layer) returns the layer's result.
template <class Layer, class Forward>
BoundLayer bind(std::unique_ptr<Layer> layer, Forward forward) {
  BoundLayer bound;
  bound.forward = [layer = layer.get(), forward] { return forward(*layer); };
  bound.module = std::move(layer);
  return bound;
}

BoundLayer make_linear(const LayerTask& t, Random random) {
  return bind(std::make_unique<Linear>(t.in(), t.out, random, true, t.x.device(), t.x.dtype()),
              [x = t.x](const Linear& layer) { return layer.forward(x); });
}

BoundLayer make_gcn(const LayerTask& t, Random random) {
  return bind(std::make_unique<GcnConv>(t.in(), t.out, random, true, t.x.device(), t.x.dtype()),
              [x = t.x, graph = gcn_norm(t.graph.adj, t.graph.weight, t.x.dtype())](const GcnConv& layer) {
                return layer.forward(graph, x);
              });
}

template <class Conv>
BoundLayer make_attention(const LayerTask& t, Random random) {
  const AttentionConvOptions options{
      .in = t.in(), .out = t.out, .heads = t.heads, .dropout = t.dropout, .residual = true};
  return bind(std::make_unique<Conv>(options, random, t.x.device(), t.x.dtype()),
              [x = t.x, adj = add_self_loops(t.graph.adj).adj,
               key = RandomKey{t.seed, 1}](const Conv& layer) { return layer.forward(adj, x, key); });
}

BoundLayer make_sage(const LayerTask& t, Random random) {
  return bind(std::make_unique<SageConv>(SageConvOptions{.in = t.in(), .out = t.out}, random, t.x.device(),
                                         t.x.dtype()),
              [x = t.x, adj = t.graph.adj](const SageConv& layer) { return layer.forward(adj, x); });
}

BoundLayer make_gin(const LayerTask& t, Random random) {
  auto nn = std::make_unique<Sequential>();
  nn->add(std::make_unique<Linear>(t.in(), t.out, random, true, t.x.device(), t.x.dtype()));
  return bind(std::make_unique<GinConv>(std::move(nn), GinConvOptions{.eps = 0.1, .train_eps = true},
                                        t.x.device(), t.x.dtype()),
              [x = t.x, adj = t.graph.adj](const GinConv& layer) { return layer.forward(adj, x); });
}

/// Edge features of three columns, drawn from t.seed.
Variable edge_features(const LayerTask& t, const Adjacency& adj) {
  return Variable(uniform({adj.num_edges(), 3}, -1, 1, RandomKey{t.seed, 2}, t.x.dtype(), t.x.device()),
                  true);
}

BoundLayer make_gine(const LayerTask& t, Random random) {
  auto nn = std::make_unique<Sequential>();
  nn->add(std::make_unique<Linear>(t.in(), t.out, random, true, t.x.device(), t.x.dtype()));
  return bind(std::make_unique<GineConv>(std::move(nn), t.in(), 3, random, GinConvOptions{.train_eps = true},
                                         t.x.device(), t.x.dtype()),
              [x = t.x, adj = t.graph.adj, f = edge_features(t, t.graph.adj)](const GineConv& layer) {
                return layer.forward(adj, x, f);
              });
}

template <class Conv>
BoundLayer make_attention_edge(const LayerTask& t, Random random) {
  const Adjacency adj = add_self_loops(t.graph.adj).adj;
  return bind(
      std::make_unique<Conv>(AttentionConvOptions{.in = t.in(), .out = t.out, .heads = t.heads, .edge_in = 3},
                             random, t.x.device(), t.x.dtype()),
      [x = t.x, adj, f = edge_features(t, adj), key = RandomKey{t.seed, 1}](const Conv& layer) {
        return layer.forward(adj, x, f, key);
      });
}

BoundLayer make_graph(const LayerTask& t, Random random) {
  return bind(
      std::make_unique<GraphConv>(GraphConvOptions{.in = t.in(), .out = t.out}, random, t.x.device(),
                                  t.x.dtype()),
      [x = t.x, adj = t.graph.adj, weight = t.graph.weight.defined() ? Variable(t.graph.weight) : Variable()](
          const GraphConv& layer) { return layer.forward(adj, weight, x); });
}

BoundLayer make_sg(const LayerTask& t, Random random) {
  return bind(std::make_unique<SgConv>(SgConvOptions{.in = t.in(), .out = t.out, .hops = 2}, random,
                                       t.x.device(), t.x.dtype()),
              [x = t.x, graph = gcn_norm(t.graph.adj, t.graph.weight, t.x.dtype())](const SgConv& layer) {
                return layer.forward(graph, x);
              });
}

BoundLayer make_appnp(const LayerTask& t, Random) {
  return bind(std::make_unique<Appnp>(AppnpOptions{.hops = 3, .dropout = t.dropout}),
              [x = t.x, graph = gcn_norm(t.graph.adj, t.graph.weight, t.x.dtype()),
               key = RandomKey{t.seed, 1}](const Appnp& layer) { return layer.forward(graph, x, key); });
}

BoundLayer make_gcn2(const LayerTask& t, Random random) {
  return bind(std::make_unique<Gcn2Conv>(t.in(), 0.1, 0.4, random, t.x.device(), t.x.dtype()),
              [x = t.x, graph = ConvGraph(gcn_norm(t.graph.adj, t.graph.weight, t.x.dtype()))](
                  const Gcn2Conv& layer) { return layer.convolve(graph, x, {.initial = x}); });
}

BoundLayer make_pna(const LayerTask& t, Random random) {
  return bind(std::make_unique<PnaConv>(t.in(), t.out, mean_log_degree(t.graph.adj), random, t.x.device(),
                                        t.x.dtype()),
              [x = t.x, graph = ConvGraph(t.graph.adj)](const PnaConv& layer) {
                return layer.convolve(graph, x, {});
              });
}

BoundLayer make_batch_norm(const LayerTask& t, Random) {
  return bind(std::make_unique<BatchNorm>(t.in(), BatchNormLayerOptions{}, t.x.device(), t.x.dtype()),
              [x = t.x](const BatchNorm& layer) { return layer.forward(x); });
}

BoundLayer make_layer_norm(const LayerTask& t, Random) {
  return bind(std::make_unique<LayerNorm>(t.in(), 1e-5, true, t.x.device(), t.x.dtype()),
              [x = t.x](const LayerNorm& layer) { return layer.forward(x); });
}

// One row per layer.
constexpr LayerEntry kLayers[] = {
    {"linear", make_linear},
    {"gcn", make_gcn},
    {"gat", make_attention<GatConv>},
    {"gatv2", make_attention<Gatv2Conv>},
    {"transformer", make_attention<TransformerConv>},
    {"sage", make_sage},
    {"gin", make_gin},
    {"gine", make_gine},
    {"gatv2_edge", make_attention_edge<Gatv2Conv>},
    {"transformer_edge", make_attention_edge<TransformerConv>},
    {"graph", make_graph},
    {"sg", make_sg},
    {"appnp", make_appnp},
    {"gcn2", make_gcn2},
    {"pna", make_pna},
    {"batch_norm", make_batch_norm},
    {"layer_norm", make_layer_norm},
};

}  // namespace

std::span<const LayerEntry> layer_table() {
  return kLayers;
}

std::string layer_names() {
  std::string names;
  for (const LayerEntry& entry : kLayers) names += str(names.empty() ? "" : ", ", entry.name);
  return names;
}

const LayerEntry& find_layer(std::string_view name) {
  for (const LayerEntry& entry : kLayers)
    if (entry.name == name) return entry;
  fail("unknown layer '", name, "': the layers are ", layer_names());
}

}  // namespace rodeo
