#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/enum_names.h"
#include "layers/convolution.h"
#include "layers/gcn_conv.h"
#include "layers/graph_pool.h"
#include "layers/linear.h"
#include "layers/norm.h"

namespace rodeo {

enum class TrunkNorm { kNone, kBatch, kLayer };
template <>
inline constexpr auto kEnumNames<TrunkNorm> = enum_names<TrunkNorm>(
    {{TrunkNorm::kNone, "none"}, {TrunkNorm::kBatch, "batch"}, {TrunkNorm::kLayer, "layer"}}, "norm");

enum class TrunkActivation { kRelu, kElu, kGelu };
template <>
inline constexpr auto kEnumNames<TrunkActivation> = enum_names<TrunkActivation>(
    {{TrunkActivation::kRelu, "relu"}, {TrunkActivation::kElu, "elu"}, {TrunkActivation::kGelu, "gelu"}},
    "activation");

/// What the classifier reads. kNone: there is none, the last layer returns the logits.
enum class TrunkJump { kNone, kLast, kCat, kMax, kSum };
template <>
inline constexpr auto kEnumNames<TrunkJump> = enum_names<TrunkJump>({{TrunkJump::kNone, "none"},
                                                                     {TrunkJump::kLast, "last"},
                                                                     {TrunkJump::kCat, "cat"},
                                                                     {TrunkJump::kMax, "max"},
                                                                     {TrunkJump::kSum, "sum"}},
                                                                    "jumping knowledge");

/// What is around the convolutions.
struct TrunkParts {
  TrunkNorm norm = TrunkNorm::kNone;  // after each hidden layer, before its activation
  bool residual = false;              // adds a linear layer of a layer's input to its output
  TrunkJump jump = TrunkJump::kNone;
  int pre_linear = 0;            // linear layers before the first convolution
  bool pre_linear_norm = false;  // their output has norm and activation, as that of hidden layers
  bool post_linear = false;      // a linear classifier; of the last layer, unless `jump` says otherwise
  TrunkActivation activation = TrunkActivation::kRelu;
  bool bias = true;  // of the convolutions; those of GIN are of its own network and stay

  bool has_classifier() const { return post_linear || jump != TrunkJump::kNone; }
};

/// When a model draws the key of a mask. Published models keep the random numbers that they always had.
enum class TrunkKeys {
  kEveryLayer,   // for each layer and convolution, in training and evaluation mode
  kHidden,       // for each hidden layer, in both modes
  kInTraining,   // for each hidden layer, in training mode
  kWithDropout,  // the same, where a dropout is not 0
};

/// A published model as a trunk: its convolutions are conv1, conv2, ..., its first linear layers lin1, lin2,
/// ...; what its layers can fuse or keep, they do.
struct TrunkPreset {
  std::string_view name;  // begins error texts
  TrunkKeys keys = TrunkKeys::kInTraining;
  TrunkParts parts = {};   // instead of TrunkOptions::parts
  bool on_blocks = false;  // also the form of mini-batches
};

struct TrunkOptions {
  std::int64_t in = 0;
  std::int64_t hidden = 16;  // of a layer's output; with attention, of one head
  std::int64_t classes = 0;
  int layers = 2;                            // convolutions; of a kind with hops: linear layers before it
  double dropout = 0.5;                      // of the output of each hidden layer and pre-linear layer
  std::optional<double> input_dropout = {};  // of x; default: dropout
  std::vector<double> layer_dropout = {};    // of the output of each hidden layer; empty: dropout
  double drop_edge = 0;                      // of each edge in training mode (drop_edges)
  const ConvKind* conv = &kGcn;
  TrunkParts parts = {};
  const TrunkPreset* preset = nullptr;  // null: the names below and no fusion over layers
  ConvOptions layer = {};  // of all convolutions; the trunk sets in, out, is_output, hidden, bias and layer
  std::optional<PoolKind> pool = {};  // for graphs: pooling, Linear, ReLU, dropout, Linear are the classifier
  double pool_dropout = 0.5;
  SpmmOptions spmm = {};
};

/// Layers of  dropout(activation(norm(conv(h) + linear(h))))  with optional parts: the published models, the
/// models of Luo, Shi and Wu, "Classic GNNs are strong baselines" (NeurIPS 2024), and PyG's BasicGNN. Order:
/// input dropout, pre-linear layers (the activation between two, dropout after each; with pre_linear_norm,
/// norm and activation after each), convolutions, classifier. Without a classifier the last convolution
/// returns logits, without norm, activation and dropout. Parameters, named as in PyG's BasicGNN: convs.<i>.*,
/// norms.<i>.*, lin.*; also lins.<i>.* (residual) and pre.<i>.* and pre_norms.<i>.*; with a pool pool.*,
/// lin1.* and lin2.* instead of lin.*.
class Trunk : public Module {
 public:
  /// Throws Error for sizes below 1, a dropout outside [0, 1) and a layer_dropout that is not one for each
  /// hidden layer. `random` draws the initial weights; a copy of it draws the dropout masks.
  Trunk(const TrunkOptions& options, Random random, Device device = kCpu, DType dtype = DType::kF32);

  /// x [nodes, in], dense or sparse -> logits [nodes, classes]. The graph is in the form of
  /// ConvTraits::graph: gcn_norm(adj), add_self_loops(adj).adj, or adj; with edge features where edge_in > 0.
  /// Layers that keep what depends on the graph and a constant x alone (a published GCN without input
  /// dropout, SGC) do so while both are the same; the memory of x must not be modified.
  Variable forward(const ConvGraph& graph, const Features& x);
  /// Computes only the rows of `last`, which is select_destinations(graph, rows): [k, classes]. Equal up to
  /// rounding, but for masks of the last layer. Batch normalisation of the last layer is over these rows.
  Variable forward(const ConvGraph& graph, const Features& x, const ConvGraph& last);
  /// Forward over the blocks of a mini-batch (datasets/neighbor_sampler.h), one for each layer.
  ///   x [sources of blocks[0], in] -> logits [destinations of the last block, classes]
  /// Throws Error unless there is a block for every layer, and each has as many sources as the one before has
  /// destinations.
  Variable forward(const std::vector<ConvGraph>& blocks, const Features& x);
  /// With a pool: the nodes and edges of a batch of graphs.   offsets i64 [graphs + 1] -> [graphs, classes]
  /// Training mode with batch normalisation needs at least 2 nodes.
  Variable forward(const ConvGraph& graph, const Features& x, const Tensor& offsets);

  /// forward() in evaluation mode, cut into parts that may run on some rows at a time. Throw Error in
  /// training mode.
  ///   x [rows, in] -> the input of layer 0: x, or the output of the pre-linear layers
  Variable evaluate_inputs(const Features& x);
  ///   h [sources, columns] -> the output of a layer: [destinations, columns]
  ///   initial  with reads_initial(), the input of layer 0 of the same rows
  Variable evaluate_layer(int layer, const ConvGraph& block, const Features& h, const Variable& initial = {});
  ///   outputs of all layers with reads_all_layers(), else at least the last, of the same rows -> logits
  Variable evaluate_outputs(const std::vector<Variable>& outputs) const;
  bool reads_all_layers() const {
    return options_.parts.jump != TrunkJump::kNone && options_.parts.jump != TrunkJump::kLast;
  }
  bool reads_initial() const { return options_.conv->traits.initial; }
  bool has_inputs() const { return !pre_.empty(); }            // evaluate_inputs() computes something
  bool has_outputs() const { return classifier_ != nullptr; }  // so does evaluate_outputs()
  int num_layers() const { return options_.layers; }           // convolutions
  bool has_fixed_steps() const override { return options_.drop_edge == 0 && Module::has_fixed_steps(); }
  /// Whether the blocks of `whole` may be padded (datasets/padded_batch.h).
  bool can_be_padded(const ConvGraph& whole) const;

  /// The parameters of the first layer. The weight decay of some published models applies only to these.
  std::vector<Variable> first_layer_parameters() const;

 private:
  /// Batch or layer normalisation, or none.
  struct Norm {
    std::unique_ptr<BatchNorm> batch;
    std::unique_ptr<LayerNorm> layer;
    Module* module() const;  // null without
    Variable operator()(const Variable& x) const;
  };
  struct PreLayer {
    std::unique_ptr<Linear> linear;
    Norm norm;
  };
  struct Layer {
    std::unique_ptr<Convolution> conv;
    Norm norm;
    std::unique_ptr<Linear> residual;  // null without
    std::int64_t width = 0;            // columns of its output
  };

  void check_options() const;
  /// Register parameters in this order. `width`: columns of the input, then of the output.
  void add_pre_layers(std::int64_t& width, Device device, DType dtype);
  void add_layer(std::size_t i, std::int64_t& width, Device device, DType dtype);
  void add_classifier(std::int64_t width, Device device, DType dtype);
  Norm make_norm(std::int64_t width, Device device, DType dtype) const;

  bool is_published() const { return options_.preset != nullptr; }
  bool has_classifier() const { return options_.pool || options_.parts.has_classifier(); }
  bool is_hidden(std::size_t layer) const;
  double dropout_after(std::size_t layer) const;
  /// Whether layers read inputs that were scaled before, and keep what they compute of constant ones.
  bool scales_inputs(const ConvGraph& graph) const;
  /// The activation that an epilogue applies; activate() applies the others.
  Activation fused_activation() const;
  bool recomputes(std::size_t layer, const Features& x) const;
  TrunkKeys keys() const { return is_published() ? options_.preset->keys : TrunkKeys::kEveryLayer; }
  /// What follows a hidden layer, or the last one (hidden false), with the key of its mask.
  EpilogueOptions next_epilogue(Activation activation, double p, bool hidden = true);

  /// graph_of(i): the graph or block of layer i.
  template <class GraphOf>
  Variable run(const GraphOf& graph_of, const Features& x, const Tensor& offsets = {});
  /// draws: in forward(), keys of masks.
  Features pre_layers(Features h, bool draws);
  Variable run_layer(std::size_t i, const ConvGraph& graph, Features h, ConvCall call) const;
  Variable activate(Variable h, const EpilogueOptions& then) const;
  Variable joined(const std::vector<Variable>& outputs) const;
  Variable classify_graphs(const Variable& h, const Tensor& offsets);

  TrunkOptions options_;
  Random random_;
  std::vector<PreLayer> pre_;            // "pre.0", "pre_norms.0", ...
  std::vector<Layer> layers_;            // "convs.0", "norms.0", "lins.0", ...
  std::unique_ptr<Linear> classifier_;   // "lin"; null without
  std::unique_ptr<GraphPool> pool_;      // "pool"; null without
  std::unique_ptr<Linear> lin1_, lin2_;  // of the pooled rows
};

}  // namespace rodeo
