#include "models/trunk.h"

#include "core/error.h"

namespace rodeo {
namespace {

/// The options with the parts of the preset.
TrunkOptions resolved(TrunkOptions o) {
  if (o.preset != nullptr) o.parts = o.preset->parts;
  if (!o.conv->traits.hops) return o;
  // A kind with hops is the last layer of a model.
  if (!o.conv->traits.has_parameters) o.parts.pre_linear = o.layers;
  o.layers = 1;
  return o;
}

}  // namespace

Trunk::Trunk(const TrunkOptions& options, Random random, Device device, DType dtype)
    : options_(resolved(options)), random_(random) {
  check_options();
  std::int64_t width = options_.in;
  add_pre_layers(width, device, dtype);
  std::int64_t all = 0;
  for (int i = 0; i < options_.layers; ++i) {
    add_layer(static_cast<std::size_t>(i), width, device, dtype);
    all += width;
  }
  if (has_classifier()) add_classifier(options_.parts.jump == TrunkJump::kCat ? all : width, device, dtype);
}

void Trunk::check_options() const {
  const TrunkOptions& o = options_;
  const std::string_view name = is_published() ? o.preset->name : "trunk";
  check(o.in >= 1 && o.hidden >= 1 && o.classes >= 1 && o.layers >= 1, "[", name,
        "] in, hidden, classes and layers must be >= 1, got ", o.in, ", ", o.hidden, ", ", o.classes, " and ",
        o.layers);
  const auto check_dropout = [&](const char* what, double p) {
    check(p >= 0 && p < 1, "[", name, "] ", what, " must be in [0, 1), got ", p);
  };
  check_dropout("dropout", o.dropout);
  check_dropout("dropout", o.input_dropout.value_or(0));
  check_dropout("drop_edge", o.drop_edge);
  if (o.conv->traits.heads) {
    check(o.layer.heads >= 1 && o.layer.out_heads >= 1, "[", name, "] heads and out_heads must be >= 1, got ",
          o.layer.heads, " and ", o.layer.out_heads);
    check_dropout("dropout", o.layer.attention_dropout);
  }
  check(o.layer.edge_in == 0 || o.conv->traits.edge_features, "[", name, "] ", o.conv->name,
        " reads no edge features: edge_in must be 0, got ", o.layer.edge_in);
  check(o.parts.pre_linear >= 0, "[", name, "] pre_linear must be >= 0, got ", o.parts.pre_linear);
  check(!o.parts.pre_linear_norm || (o.parts.pre_linear > 0 && o.parts.norm != TrunkNorm::kNone), "[", name,
        "] pre_linear_norm needs pre_linear > 0 and a norm");
  check(!reads_initial() || (o.parts.pre_linear > 0 && has_classifier()), "[", name, "] ", o.conv->name,
        " keeps the width of its input: it needs pre_linear > 0 and a classifier");
  const int hidden_layers = has_classifier() ? o.layers : o.layers - 1;
  check(o.layer_dropout.empty() || std::ssize(o.layer_dropout) == hidden_layers, "[", name,
        "] layer_dropout must have a value for each of ", hidden_layers, " hidden layers, got ",
        o.layer_dropout.size());
  for (const double p : o.layer_dropout) check_dropout("layer_dropout", p);
  check_dropout("pool_dropout", o.pool_dropout);
}

void Trunk::add_pre_layers(std::int64_t& width, Device device, DType dtype) {
  const TrunkOptions& o = options_;
  for (int i = 0; i < o.parts.pre_linear; ++i) {
    PreLayer& pre = pre_.emplace_back();
    // Without weights, the last layer propagates logits.
    const bool logits = !o.conv->traits.has_parameters && !has_classifier() && i + 1 == o.parts.pre_linear;
    const std::int64_t out = logits ? o.classes : o.hidden;
    pre.linear = std::make_unique<Linear>(width, out, random_, true, device, dtype);
    register_module(is_published() ? str("lin", i + 1) : str("pre.", i), pre.linear.get());
    if (o.parts.pre_linear_norm) pre.norm = make_norm(out, device, dtype);
    if (Module* norm = pre.norm.module()) register_module(str("pre_norms.", i), norm);
    width = out;
  }
}

void Trunk::add_layer(std::size_t i, std::int64_t& width, Device device, DType dtype) {
  const TrunkOptions& o = options_;
  Layer& layer = layers_.emplace_back();
  const bool hidden = is_hidden(i);
  ConvOptions each = o.layer;
  each.in = width;
  each.out = hidden ? o.hidden : o.classes;
  each.is_output = !hidden;
  each.bias = o.parts.bias;
  each.hidden = o.hidden;
  each.layer = static_cast<int>(i) + 1;
  each.ends_with_relu = is_published();
  layer.conv = o.conv->make(each, random_, device, dtype);
  layer.width = o.conv->traits.has_parameters ? layer.conv->width() : width;
  register_module(is_published() ? str("conv", i + 1) : str("convs.", i), layer.conv.get());
  if (hidden) layer.norm = make_norm(layer.width, device, dtype);
  if (Module* norm = layer.norm.module()) register_module(str("norms.", i), norm);
  if (o.parts.residual) {
    layer.residual = std::make_unique<Linear>(width, layer.width, random_, true, device, dtype);
    register_module(str("lins.", i), layer.residual.get());
  }
  width = layer.width;
}

void Trunk::add_classifier(std::int64_t width, Device device, DType dtype) {
  const auto linear = [&](const char* name, std::unique_ptr<Linear>& slot, std::int64_t out) {
    slot = std::make_unique<Linear>(width, out, random_, true, device, dtype);
    register_module(name, slot.get());
    width = out;
  };
  if (!options_.pool) return linear("lin", classifier_, options_.classes);
  pool_ = std::make_unique<GraphPool>(*options_.pool, width, random_, device, dtype);
  register_module("pool", pool_.get());
  linear("lin1", lin1_, options_.hidden);
  linear("lin2", lin2_, options_.classes);
}

Trunk::Norm Trunk::make_norm(std::int64_t width, Device device, DType dtype) const {
  Norm norm;
  if (options_.parts.norm == TrunkNorm::kBatch)
    norm.batch = std::make_unique<BatchNorm>(width, BatchNormLayerOptions(), device, dtype);
  if (options_.parts.norm == TrunkNorm::kLayer)
    norm.layer = std::make_unique<LayerNorm>(width, 1e-5, true, device, dtype);
  return norm;
}

Module* Trunk::Norm::module() const {
  if (batch) return batch.get();
  return layer.get();
}

Variable Trunk::Norm::operator()(const Variable& x) const {
  if (batch) return batch->forward(x);
  return layer ? layer->forward(x) : x;
}

bool Trunk::is_hidden(std::size_t layer) const {
  return has_classifier() || layer + 1 < static_cast<std::size_t>(options_.layers);
}

double Trunk::dropout_after(std::size_t layer) const {
  return options_.layer_dropout.empty() ? options_.dropout : options_.layer_dropout[layer];
}

bool Trunk::scales_inputs(const ConvGraph& graph) const {
  return is_published() && options_.conv->traits.scaled_inputs && !has_classifier() && !graph.is_block;
}

Activation Trunk::fused_activation() const {
  if (is_published() && options_.conv->traits.batch_norm) return Activation::kNone;  // its network has one
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

bool Trunk::recomputes(std::size_t layer, const Features& x) const {
  // Inputs of layers are most of the memory of attention models.
  return is_published() && options_.conv->traits.heads &&
         x.dim(0) * layers_[layer].width * static_cast<std::int64_t>(size_of(x.dtype())) >= kRecomputeBytes;
}

bool Trunk::can_be_padded(const ConvGraph& whole) const {
  if (!has_fixed_steps()) return false;
  if (options_.parts.norm == TrunkNorm::kBatch) return false;  // it counts the rows of a block
  for (const Layer& layer : layers_)
    if (!layer.conv->can_be_padded(whole, options_.spmm)) return false;
  return true;
}

std::vector<Variable> Trunk::first_layer_parameters() const {
  return pre_.empty() ? layers_.front().conv->parameters() : pre_.front().linear->parameters();
}

}  // namespace rodeo
