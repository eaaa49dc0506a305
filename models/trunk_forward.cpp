#include <utility>

#include "core/error.h"
#include "layers/drop_edge.h"
#include "layers/jumping_knowledge.h"
#include "models/trunk.h"
#include "ops/combine.h"
#include "ops/dense.h"
#include "ops/gelu.h"

namespace rodeo {
namespace {

/// The rows that the last layer returns, of the output of another layer.
Variable rows_of_last(const ConvGraph& last, const Variable& output, std::int64_t count) {
  if (last.selected.defined()) return destinations(last, output).dense();
  return output.dim(0) == count ? output : rows(output, 0, count);
}

/// Throws Error unless the blocks of a mini-batch fit together, one for each layer, and x is [sources, in].
void check_blocks(std::string_view model, const std::vector<ConvGraph>& blocks, int layers,
                  const Features& x) {
  check(std::ssize(blocks) == layers, "[", model, "] ", layers, " layers need a block each, got ",
        blocks.size());
  std::int64_t sources = x.dim(0);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    check(blocks[i].adj.cols() == sources && blocks[i].adj.rows() <= sources, "[", model, "] block ", i,
          " is [", blocks[i].adj.rows(), ", ", blocks[i].adj.cols(), "], but its input has ", sources,
          " rows");
    sources = blocks[i].adj.rows();
  }
}

}  // namespace

Variable Trunk::forward(const ConvGraph& graph, const Features& x) {
  return run([&](std::size_t) -> const ConvGraph& { return graph; }, x);
}

Variable Trunk::forward(const ConvGraph& graph, const Features& x, const ConvGraph& last) {
  // Rows of a GcnGraph alone do not have the scales of its columns, which the first layer may need.
  check(layers_.size() >= 2 || last.selected.defined(), "[", is_published() ? options_.preset->name : "trunk",
        "] computing the last layer for selected rows needs at least two layers");
  return run([&](std::size_t i) -> const ConvGraph& { return i + 1 == layers_.size() ? last : graph; }, x);
}

Variable Trunk::forward(const std::vector<ConvGraph>& blocks, const Features& x) {
  check_blocks(is_published() ? options_.preset->name : "trunk", blocks, options_.layers, x);
  return run([&](std::size_t i) -> const ConvGraph& { return blocks[i]; }, x);
}

Variable Trunk::forward(const ConvGraph& graph, const Features& x, const Tensor& offsets) {
  check(pool_ != nullptr, "[trunk] offsets are for a trunk with a pool");
  return run([&](std::size_t) -> const ConvGraph& { return graph; }, x, offsets);
}

EpilogueOptions Trunk::next_epilogue(Activation activation, double p, bool hidden) {
  EpilogueOptions then{.activation = activation, .dropout = training() ? p : 0};
  const bool draws = keys() == TrunkKeys::kEveryLayer ||
                     (hidden && (keys() == TrunkKeys::kHidden ||
                                 (training() && (keys() == TrunkKeys::kInTraining || p > 0))));
  if (draws) then.key = random_.next();
  return then;
}

template <class GraphOf>
Variable Trunk::run(const GraphOf& graph_of, const Features& x, const Tensor& offsets) {
  const ConvGraph& first = graph_of(0);
  check(first.edge_attr.defined() == (options_.layer.edge_in > 0), "[", options_.conv->name,
        "] edge features are ", first.edge_attr.defined() ? "given" : "undefined", ", the model has edge_in ",
        options_.layer.edge_in);
  check(offsets.defined() == (pool_ != nullptr), "[trunk] a trunk with a pool reads the offsets of graphs");
  const double p = options_.input_dropout.value_or(options_.dropout);
  const bool scales = scales_inputs(first);  // what writes an input scales it: no pass of its own
  const bool drops = training() && (p > 0 || keys() == TrunkKeys::kInTraining);
  Features h = x;
  if (drops) h = dropout(x, p, random_.next(), scales ? first.col_scale : Tensor());
  h = pre_layers(std::move(h), /*draws=*/true);
  Variable initial;
  if (reads_initial()) {
    initial = h.dense();
    h = apply(initial, next_epilogue(Activation::kNone, options_.dropout));
  }
  std::vector<Variable> outputs;
  const ConvGraph* last = nullptr;
  ConvGraph dropped;
  const ConvGraph* dropped_of = nullptr;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const bool hidden = is_hidden(i);
    last = &graph_of(i);
    if (training() && options_.drop_edge > 0) {  // layers of one graph share its edges
      if (dropped_of != last) dropped = drop_edges(*last, options_.drop_edge, random_.next());
      dropped_of = std::exchange(last, &dropped);
    }
    ConvCall call{.then = next_epilogue(hidden ? fused_activation() : Activation::kNone,
                                        hidden ? dropout_after(i) : 0, hidden),
                  .is_scaled = scales && (i > 0 || drops),
                  .keeps_input = scales && i == 0 && p == 0};
    call.initial = initial;
    call.then.recompute = hidden && recomputes(i, x);
    if (scales && hidden) call.then.post_scale = first.col_scale;
    if (keys() == TrunkKeys::kEveryLayer || options_.conv->traits.random) call.key = random_.next();
    h = run_layer(i, *last, std::move(h), call);
    if (initial.defined() && last->is_block) initial = destinations(*last, initial).dense();
    if (reads_all_layers()) outputs.push_back(h.dense());
  }
  if (!has_classifier()) return h.dense();
  const std::int64_t targets = h.dim(0);
  for (std::size_t i = 0; i + 1 < outputs.size(); ++i) outputs[i] = rows_of_last(*last, outputs[i], targets);
  if (pool_) return classify_graphs(outputs.empty() ? h.dense() : joined(outputs), offsets);
  return classifier_->forward(outputs.empty() ? h : Features(joined(outputs)));
}

Features Trunk::pre_layers(Features h, bool draws) {
  for (std::size_t i = 0; i < pre_.size(); ++i) {
    const bool last = i + 1 == pre_.size();
    Variable y = pre_[i].norm(pre_[i].linear->forward(h));
    if (last && !options_.conv->traits.has_parameters && !has_classifier()) return y;  // logits
    const bool activated = options_.parts.pre_linear_norm || reads_initial() || !last;
    const Activation activation = activated ? fused_activation() : Activation::kNone;
    const EpilogueOptions then = draws && !(last && reads_initial())
                                     ? next_epilogue(activation, options_.dropout)
                                     : EpilogueOptions{.activation = activation};
    h = activated ? activate(y, then) : apply(y, then);
  }
  return h;
}

Variable Trunk::run_layer(std::size_t i, const ConvGraph& graph, Features h, ConvCall call) const {
  const Layer& layer = layers_[i];
  // Fused with the layer's bias where nothing is between.
  const bool fused =
      !layer.norm.module() && !layer.residual && options_.parts.activation != TrunkActivation::kGelu;
  const EpilogueOptions after = call.then;
  if (!fused) call.then = {};
  call.spmm = options_.spmm;
  // Every batch has other blocks, and DropEdge another graph in each step: no plans, and nothing is tuned for
  // them.
  const bool once = graph.is_block || (training() && options_.drop_edge > 0);
  if (once && call.spmm.algorithm == SpmmAlgorithm::kAuto && call.spmm.reduce == Reduce::kSum)
    call.spmm.algorithm = SpmmAlgorithm::kCsr;
  const Features input = layer.residual ? h : Features();
  Variable y = layer.conv->convolve(graph, std::move(h), call);
  if (layer.residual) y = add(y, layer.residual->forward(destinations(graph, input)));
  y = layer.norm(y);
  return fused || !is_hidden(i) ? y : activate(y, after);
}

Variable Trunk::activate(Variable h, const EpilogueOptions& then) const {
  if (options_.parts.activation == TrunkActivation::kGelu) h = gelu(h);
  return apply(h, then);
}

Variable Trunk::evaluate_inputs(const Features& x) {
  check(!training(), "[trunk] evaluate_inputs is for evaluation mode: call eval() first");
  return pre_layers(x, /*draws=*/false).dense();
}

Variable Trunk::evaluate_layer(int layer, const ConvGraph& block, const Features& h,
                               const Variable& initial) {
  const std::string_view name = is_published() ? options_.preset->name : "trunk";
  check(!training(), "[", name, "] evaluate_layer is for evaluation mode: call eval() first");
  check(layer >= 0 && layer < options_.layers, "[", name, "] layer must be in [0, ", options_.layers,
        "), got ", layer);
  const auto i = static_cast<std::size_t>(layer);
  return run_layer(
      i, block, h,
      {.then = {.activation = is_hidden(i) ? fused_activation() : Activation::kNone}, .initial = initial});
}

Variable Trunk::evaluate_outputs(const std::vector<Variable>& outputs) const {
  check(!outputs.empty(), "[trunk] evaluate_outputs needs the output of the last layer, got none");
  return classifier_ ? classifier_->forward(joined(outputs)) : outputs.back();
}

Variable Trunk::joined(const std::vector<Variable>& outputs) const {
  switch (options_.parts.jump) {
    case TrunkJump::kCat:
      return JumpingKnowledge(JumpingMode::kCat).forward(outputs);
    case TrunkJump::kMax:
      return JumpingKnowledge(JumpingMode::kMax).forward(outputs);
    case TrunkJump::kSum: {
      Variable sum = outputs.front();
      for (std::size_t i = 1; i < outputs.size(); ++i) sum = add(sum, outputs[i]);
      return sum;
    }
    case TrunkJump::kNone:
    case TrunkJump::kLast:
      break;
  }
  return outputs.back();
}

Variable Trunk::classify_graphs(const Variable& h, const Tensor& offsets) {
  Variable y = relu(lin1_->forward(pool_->forward(h, offsets)));
  if (training() && options_.pool_dropout > 0) y = dropout(y, options_.pool_dropout, random_.next());
  return lin2_->forward(y);
}

}  // namespace rodeo
