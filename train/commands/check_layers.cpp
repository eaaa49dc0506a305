#include "train/commands/check_layers.h"

#include <tuple>
#include <type_traits>
#include <utility>

#include "core/text.h"
#include "datasets/subgraph.h"
#include "layers/appnp.h"
#include "layers/gat_conv.h"
#include "layers/gatv2_conv.h"
#include "layers/gcn2_conv.h"
#include "layers/gcn_conv.h"
#include "layers/gin_conv.h"
#include "layers/gine_conv.h"
#include "layers/gradcheck_layer.h"
#include "layers/graph_conv.h"
#include "layers/linear.h"
#include "layers/norm.h"
#include "layers/pna_conv.h"
#include "layers/sage_conv.h"
#include "layers/sg_conv.h"
#include "layers/transformer_conv.h"
#include "ops/dense.h"

namespace rodeo {
namespace {

using Task = LayerTask;
constexpr std::int64_t kHeads = 2, kEdgeFeatures = 3;
constexpr double kDropout = 0.3;

/// A layer that is made of `options`, and of the task's device and dtype. inputs: of its forward or convolve.
template <class Layer, class... Inputs, class... Options>
BoundLayer bind(const Task& t, std::tuple<Inputs...> inputs, Options&&... options) {
  std::unique_ptr<Layer> layer;
  if constexpr (std::is_constructible_v<Layer, Options..., Device, DType>)
    layer = std::make_unique<Layer>(std::forward<Options>(options)..., t.x.device(), t.x.dtype());
  else
    layer = std::make_unique<Layer>(std::forward<Options>(options)...);
  const auto forward = [&made = *layer](const Inputs&... x) {
    if constexpr (requires { made.forward(x...); })
      return made.forward(x...);
    else
      return made.convolve(x...);
  };
  return {std::move(layer), [forward, inputs = std::move(inputs)] { return std::apply(forward, inputs); }};
}

template <class Conv>
BoundLayer make_attention(const Task& t, Random random) {
  const AttentionConvOptions options{
      .in = t.in(), .out = t.out, .heads = kHeads, .dropout = kDropout, .residual = true};
  return bind<Conv>(t, std::tuple(t.looped, t.x, t.key()), options, random);
}

/// Edge features, drawn from t.seed.
Variable edge_features(const Task& t, const Adjacency& adj) {
  return Variable(uniform({adj.num_edges(), kEdgeFeatures}, -1, 1, {t.seed, 2}, t.x.dtype(), t.x.device()),
                  true);
}

template <class Conv>
BoundLayer make_attention_edge(const Task& t, Random random) {
  const AttentionConvOptions options{.in = t.in(), .out = t.out, .heads = kHeads, .edge_in = kEdgeFeatures};
  return bind<Conv>(t, std::tuple(t.looped, t.x, edge_features(t, t.looped), t.key()), options, random);
}

std::unique_ptr<Sequential> network(const Task& t, Random& random) {
  auto nn = std::make_unique<Sequential>();
  nn->add(std::make_unique<Linear>(t.in(), t.out, random, true, t.x.device(), t.x.dtype()));
  return nn;
}

BoundLayer make_gine(const Task& t, Random random) {
  auto nn = network(t, random);
  return bind<GineConv>(t, std::tuple(t.graph.adj, t.x, edge_features(t, t.graph.adj)), std::move(nn), t.in(),
                        kEdgeFeatures, random, GinConvOptions{.train_eps = true});
}

/// Inputs of Convolution::convolve(); x is the initial one, too, for layers that read it.
std::tuple<ConvGraph, Features, ConvCall> conv_inputs(const ConvGraph& graph, const Variable& x) {
  ConvCall call;
  call.initial = x;
  return {graph, x, call};
}

constexpr LayerEntry kLayers[] = {
    {"linear", [](const Task& t,
                  Random random) { return bind<Linear>(t, std::tuple(t.x), t.in(), t.out, random, true); }},
    {"gcn",
     [](const Task& t, Random random) {
       return bind<GcnConv>(t, std::tuple(t.normalized, t.x), t.in(), t.out, random, true);
     }},
    {"gat", make_attention<GatConv>},
    {"gatv2", make_attention<Gatv2Conv>},
    {"transformer", make_attention<TransformerConv>},
    {"sage",
     [](const Task& t, Random random) {
       return bind<SageConv>(t, std::tuple(t.graph.adj, t.x), SageConvOptions{.in = t.in(), .out = t.out},
                             random);
     }},
    {"gin",
     [](const Task& t, Random random) {
       return bind<GinConv>(t, std::tuple(t.graph.adj, t.x), network(t, random),
                            GinConvOptions{.eps = 0.1, .train_eps = true});
     }},
    {"gine", make_gine},
    {"gatv2_edge", make_attention_edge<Gatv2Conv>},
    {"transformer_edge", make_attention_edge<TransformerConv>},
    {"graph",
     [](const Task& t, Random random) {
       return bind<GraphConv>(t, std::tuple(t.graph.adj, t.weight, t.x),
                              GraphConvOptions{.in = t.in(), .out = t.out}, random);
     }},
    {"sg",
     [](const Task& t, Random random) {
       return bind<SgConv>(t, std::tuple(t.normalized, t.x),
                           SgConvOptions{.in = t.in(), .out = t.out, .hops = 2}, random);
     }},
    {"appnp",
     [](const Task& t, Random) {
       return bind<Appnp>(t, std::tuple(t.normalized, t.x, t.key()),
                          AppnpOptions{.hops = 3, .dropout = kDropout});
     }},
    {"gcn2",
     [](const Task& t, Random random) {
       return bind<Gcn2Conv>(t, conv_inputs(t.normalized, t.x), t.in(), 0.1, 0.4, random);
     }},
    {"pna",
     [](const Task& t, Random random) {
       return bind<PnaConv>(t, conv_inputs(t.graph.adj, t.x), t.in(), t.out, mean_log_degree(t.graph.adj),
                            random);
     }},
    {"batch_norm",
     [](const Task& t, Random) {
       return bind<BatchNorm>(t, std::tuple(t.x), t.in(), BatchNormLayerOptions{});
     }},
    {"layer_norm",
     [](const Task& t, Random) { return bind<LayerNorm>(t, std::tuple(t.x), t.in(), 1e-5, true); }},
};

}  // namespace

std::span<const LayerEntry> layer_table() {
  return kLayers;
}

std::string layer_names() {
  return join(kLayers, ", ", &LayerEntry::name);
}

const LayerEntry& find_layer(std::string_view name) {
  for (const LayerEntry& entry : kLayers)
    if (entry.name == name) return entry;
  fail("unknown layer '", name, "': the layers are ", layer_names());
}

LayerTask make_layer_task(const Dataset& dataset, Device device, const CheckLayerOptions& options) {
  check(options.nodes >= 1 && options.out >= 1, "[check_layer] nodes and out must be at least 1, got ",
        options.nodes, " and ", options.out);
  check(dataset.num_nodes >= 1, "[check_layer] ", dataset.name, " has no nodes");
  const Dataset part = induced_subgraph(dataset, neighbourhood(dataset, options.nodes, options.seed));
  LayerTask task;
  task.graph = to_graph(part, device);
  if (task.graph.weight.defined()) {
    task.graph.weight = task.graph.weight.to(DType::kF64);
    task.weight = Variable(task.graph.weight);
  }
  task.normalized = gcn_norm(task.graph.adj, task.graph.weight, DType::kF64);
  task.looped = add_self_loops(task.graph.adj).adj;
  constexpr std::int64_t kFeatures = 16;
  const Tensor features = part.has_features() ? dense_features(part) : Tensor();
  const Shape shape{part.num_nodes, features.defined() ? features.dim(1) : kFeatures};
  Tensor x = uniform(shape, -0.5, 0.5, {options.seed, 2}, DType::kF64, device);
  if (features.defined()) x = add(x, normalize_rows(features.to(DType::kF64).to(device)));
  task.x = Variable(x, /*requires_grad=*/true);
  task.out = options.out;
  task.seed = options.seed;
  return task;
}

GradcheckResult check_layer(const LayerEntry& layer, const LayerTask& task,
                            const CheckLayerOptions& options) {
  const BoundLayer bound = layer.make(task, Random(options.seed));
  return gradcheck_layer(*bound.module, bound.forward, {{"x", task.x}},
                         {.seed = options.seed, .max_elements = options.max_elements});
}

}  // namespace rodeo
