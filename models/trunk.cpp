#include "models/trunk.h"

#include "layers/gat_conv.h"
#include "layers/gatv2_conv.h"
#include "layers/gcn_conv.h"
#include "layers/gin_conv.h"
#include "layers/sage_conv.h"
#include "models/check_sizes.h"
#include "ops/combine.h"
#include "ops/dense.h"
#include "ops/gelu.h"

namespace rodeo {
namespace {

bool does_nothing(const EpilogueOptions& then) {
  return then.activation == Activation::kNone && then.dropout == 0;
}

Variable apply(const Variable& x, const EpilogueOptions& then) {
  return does_nothing(then) ? x : epilogue(x, Variable(), then);
}

/// The rows of destinations, which are the first ones; h where it has no others.
Features first_rows(const Features& h, std::int64_t count) {
  return h.dim(0) == count ? h : Features(rows(h.dense(), 0, count));
}

/// Linear, BatchNorm, ReLU, Linear.
std::unique_ptr<Sequential> gin_network(std::int64_t in, std::int64_t hidden, std::int64_t out,
                                        Random& random, Device device, DType dtype) {
  auto nn = std::make_unique<Sequential>();
  nn->add(std::make_unique<Linear>(in, hidden, random, true, device, dtype))
      .add(std::make_unique<BatchNorm>(hidden, BatchNormLayerOptions(), device, dtype))
      .add([](const Variable& x) { return relu(x); })
      .add(std::make_unique<Linear>(hidden, out, random, true, device, dtype));
  return nn;
}

}  // namespace

Trunk::Trunk(const TrunkOptions& options, Random random, Device device, DType dtype)
    : options_(options), random_(random) {
  const TrunkOptions& o = options_;
  check_sizes("trunk", o);
  check(o.parts.pre_linear >= 0, "[trunk] pre_linear must be >= 0, got ", o.parts.pre_linear);
  check(!o.parts.pre_linear_norm || (o.parts.pre_linear > 0 && o.parts.norm != TrunkNorm::kNone),
        "[trunk] pre_linear_norm needs pre_linear > 0 and a norm");
  const int hidden_layers = o.parts.has_classifier() ? o.layers : o.layers - 1;
  check(o.layer_dropout.empty() || std::ssize(o.layer_dropout) == hidden_layers,
        "[trunk] layer_dropout must have a value for each of ", hidden_layers, " hidden layers, got ",
        o.layer_dropout.size());
  for (const double p : o.layer_dropout)
    check(p >= 0 && p < 1, "[trunk] layer_dropout must be in [0, 1), got ", p);

  std::int64_t width = o.in, all = 0;
  for (int i = 0; i < o.parts.pre_linear; ++i) {
    PreLayer& pre = pre_.emplace_back();
    pre.linear = std::make_unique<Linear>(width, o.hidden, random_, true, device, dtype);
    register_module(str("pre.", i), pre.linear.get());
    if (o.parts.pre_linear_norm) pre.norm = make_norm(o.hidden, device, dtype);
    if (pre.norm.module) register_module(str("pre_norms.", i), pre.norm.module.get());
    width = o.hidden;
  }
  for (int i = 0; i < o.layers; ++i) {
    Layer& layer = layers_.emplace_back();
    const bool hidden = is_hidden(static_cast<std::size_t>(i));
    add_convolution(layer, width, hidden, device, dtype);
    register_module(str("convs.", i), layer.conv.get());
    if (hidden) layer.norm = make_norm(layer.width, device, dtype);
    if (layer.norm.module) register_module(str("norms.", i), layer.norm.module.get());
    if (o.parts.residual) {
      layer.residual = std::make_unique<Linear>(width, layer.width, random_, true, device, dtype);
      register_module(str("lins.", i), layer.residual.get());
    }
    width = layer.width;
    all += width;
  }
  if (!o.parts.has_classifier()) return;
  const std::int64_t read = o.parts.jump == TrunkJump::kCat ? all : width;
  classifier_ = std::make_unique<Linear>(read, o.classes, random_, true, device, dtype);
  register_module("lin", classifier_.get());
}

bool Trunk::is_hidden(std::size_t layer) const {
  return options_.parts.has_classifier() || layer + 1 < static_cast<std::size_t>(options_.layers);
}

double Trunk::dropout_after(std::size_t layer) const {
  return options_.layer_dropout.empty() ? options_.dropout : options_.layer_dropout[layer];
}

void Trunk::add_convolution(Layer& layer, std::int64_t in, bool hidden, Device device, DType dtype) {
  const TrunkOptions& o = options_;
  const std::int64_t out = hidden ? o.hidden : o.classes;
  layer.width = out;
  const auto attention = [&]<class Conv>(std::unique_ptr<Conv>*) {
    auto conv =
        std::make_unique<Conv>(AttentionConvOptions{.in = in,
                                                    .out = out,
                                                    .heads = hidden ? o.heads : o.out_heads,
                                                    .merge = hidden ? HeadMerge::kConcat : HeadMerge::kMean,
                                                    .negative_slope = o.negative_slope,
                                                    .dropout = o.attention_dropout,
                                                    .bias = o.parts.bias,
                                                    .form = o.form,
                                                    .sddmm = o.sddmm},
                               random_, device, dtype);
    layer.width = conv->width();
    layer.convolve = [conv = conv.get()](const GcnGraph& graph, const Features& x, RandomKey key,
                                         const EpilogueOptions& then) {
      return conv->forward(graph.adj, x, key, then);
    };
    layer.convolve_block = [conv = conv.get()](const GcnBlock& block, const Features& x, RandomKey key,
                                               const EpilogueOptions& then) {
      const Variable sources = x.dense();
      const BipartiteFeatures both{sources, rows(sources, 0, block.adj.rows())};
      return conv->forward(block.adj, both, key, then);
    };
    layer.conv = std::move(conv);
  };
  const auto plain = [&]<class Conv>(std::unique_ptr<Conv> conv) {
    layer.convolve = [conv = conv.get(), spmm = o.spmm](const GcnGraph& graph, const Features& x, RandomKey,
                                                        const EpilogueOptions& then) {
      if constexpr (std::is_same_v<Conv, GcnConv>)
        return conv->forward(graph, x, spmm, GcnConv::Fusion{.epilogue = then});
      else if constexpr (std::is_same_v<Conv, SageConv>)
        return conv->forward(graph.adj, x, spmm, then);
      else
        return apply(conv->forward(graph.adj, x, spmm), then);
    };
    // Every batch has other blocks: no plans, and nothing is tuned for them.
    SpmmOptions once = o.spmm;
    if (once.algorithm == SpmmAlgorithm::kAuto && once.reduce == Reduce::kSum)
      once.algorithm = SpmmAlgorithm::kCsr;
    layer.convolve_block = [conv = conv.get(), once](const GcnBlock& block, const Features& x, RandomKey,
                                                     const EpilogueOptions& then) {
      if constexpr (std::is_same_v<Conv, GcnConv>)
        return conv->forward(block, x, once, then);
      else if constexpr (std::is_same_v<Conv, SageConv>)
        return conv->forward(block.adj, x, once, then);
      else
        return apply(conv->forward(block.adj, x, once), then);
    };
    layer.conv = std::move(conv);
  };
  switch (o.conv) {
    case TrunkConv::kGat:
      return attention(static_cast<std::unique_ptr<GatConv>*>(nullptr));
    case TrunkConv::kGatv2:
      return attention(static_cast<std::unique_ptr<Gatv2Conv>*>(nullptr));
    case TrunkConv::kGcn:
      return plain(std::make_unique<GcnConv>(in, out, random_, o.parts.bias, device, dtype));
    case TrunkConv::kSage:
      return plain(std::make_unique<SageConv>(
          SageConvOptions{.in = in, .out = out, .aggr = o.aggr, .bias = o.parts.bias}, random_, device,
          dtype));
    case TrunkConv::kGin:
      return plain(std::make_unique<GinConv>(gin_network(in, o.hidden, out, random_, device, dtype),
                                             GinConvOptions{.train_eps = o.train_eps}, device, dtype));
  }
}

Trunk::Norm Trunk::make_norm(std::int64_t width, Device device, DType dtype) const {
  const auto wrap = [](auto norm) {
    auto* const module = norm.get();
    return Norm{std::move(norm), [module](const Variable& x) { return module->forward(x); }};
  };
  if (options_.parts.norm == TrunkNorm::kBatch)
    return wrap(std::make_unique<BatchNorm>(width, BatchNormLayerOptions(), device, dtype));
  if (options_.parts.norm == TrunkNorm::kLayer)
    return wrap(std::make_unique<LayerNorm>(width, 1e-5, true, device, dtype));
  return {};
}

Variable Trunk::activate(Variable h, const EpilogueOptions& then) {
  if (options_.parts.activation == TrunkActivation::kGelu) h = gelu(h);
  return apply(h, then);
}

Variable Trunk::forward(const GcnGraph& graph, const Features& x) {
  return run([&](std::size_t) -> const GcnGraph& { return graph; }, x);
}

Variable Trunk::forward(const std::vector<GcnBlock>& blocks, const Features& x) {
  std::vector<Adjacency> adjacencies;
  for (const GcnBlock& block : blocks) adjacencies.push_back(block.adj);
  check_blocks("trunk", adjacencies, options_.layers, x);
  return run([&](std::size_t i) -> const GcnBlock& { return blocks[i]; }, x);
}

Activation Trunk::fused_activation() const {
  switch (options_.parts.activation) {
    case TrunkActivation::kRelu:
      return Activation::kRelu;
    case TrunkActivation::kElu:
      return Activation::kElu;
    case TrunkActivation::kGelu:
      break;
  }
  return Activation::kNone;
}

Features Trunk::pre_layers(Features h, const std::function<EpilogueOptions(Activation)>& then) {
  for (std::size_t i = 0; i < pre_.size(); ++i) {
    Variable y = pre_[i].linear->forward(h);
    if (pre_[i].norm.module) y = pre_[i].norm.normalize(y);
    const bool activated = options_.parts.pre_linear_norm || i + 1 < pre_.size();
    h = activated ? activate(y, then(fused_activation())) : apply(y, then(Activation::kNone));
  }
  return h;
}

template <class Graph>
Variable Trunk::run_layer(std::size_t i, const Graph& graph, const Features& h, RandomKey key,
                          const EpilogueOptions& after) {
  const Layer& layer = layers_[i];
  // Fused with the layer's bias where nothing is between.
  const bool fused =
      !layer.norm.module && !layer.residual && options_.parts.activation != TrunkActivation::kGelu;
  const EpilogueOptions inside = fused ? after : EpilogueOptions();
  Variable y;
  if constexpr (std::is_same_v<Graph, GcnBlock>)
    y = layer.convolve_block(graph, h, key, inside);
  else
    y = layer.convolve(graph, h, key, inside);
  if (layer.residual) y = add(y, layer.residual->forward(first_rows(h, y.dim(0))));
  if (layer.norm.module) y = layer.norm.normalize(y);
  return fused || !is_hidden(i) ? y : activate(y, after);
}

template <class GraphOf>
Variable Trunk::run(const GraphOf& graph_of, const Features& x) {
  // Every call draws the same number of keys, in training and evaluation mode.
  const auto then = [&](Activation f, double p) {
    return EpilogueOptions{.activation = f, .dropout = training() ? p : 0, .key = random_.next()};
  };
  const double first = options_.input_dropout.value_or(options_.dropout);
  Features h = x;
  if (training() && first > 0) h = dropout(x, first, random_.next());
  h = pre_layers(h, [&](Activation f) { return then(f, options_.dropout); });
  std::vector<Variable> outputs;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const EpilogueOptions after =
        is_hidden(i) ? then(fused_activation(), dropout_after(i)) : then(Activation::kNone, 0);
    outputs.push_back(run_layer(i, graph_of(i), h, random_.next(), after));
    h = outputs.back();
  }
  const std::int64_t targets = outputs.back().dim(0);
  for (Variable& output : outputs) output = first_rows(output, targets).dense();
  return classifier_ ? classify(outputs) : outputs.back();
}

Variable Trunk::evaluate_inputs(const Features& x) {
  check(!training(), "[trunk] evaluate_inputs is for evaluation mode: call eval() first");
  return pre_layers(x, [](Activation f) { return EpilogueOptions{.activation = f}; }).dense();
}

Variable Trunk::evaluate_layer(int layer, const GcnBlock& block, const Features& h) {
  check(!training(), "[trunk] evaluate_layer is for evaluation mode: call eval() first");
  check(layer >= 0 && layer < options_.layers, "[trunk] layer must be in [0, ", options_.layers, "), got ",
        layer);
  const auto i = static_cast<std::size_t>(layer);
  return run_layer(i, block, h, RandomKey(),
                   {.activation = is_hidden(i) ? fused_activation() : Activation::kNone});
}

Variable Trunk::evaluate_outputs(const std::vector<Variable>& outputs) const {
  check(!outputs.empty(), "[trunk] evaluate_outputs needs the output of the last layer, got none");
  return classifier_ ? classify(outputs) : outputs.back();
}

Variable Trunk::classify(const std::vector<Variable>& outputs) const {
  switch (options_.parts.jump) {
    case TrunkJump::kCat:
      return classifier_->forward(JumpingKnowledge(JumpingMode::kCat).forward(outputs));
    case TrunkJump::kMax:
      return classifier_->forward(JumpingKnowledge(JumpingMode::kMax).forward(outputs));
    case TrunkJump::kSum: {
      Variable sum = outputs.front();
      for (std::size_t i = 1; i < outputs.size(); ++i) sum = add(sum, outputs[i]);
      return classifier_->forward(sum);
    }
    case TrunkJump::kNone:
    case TrunkJump::kLast:
      break;
  }
  return classifier_->forward(outputs.back());
}

}  // namespace rodeo
