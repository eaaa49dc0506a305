#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/enum_names.h"
#include "layers/jumping_knowledge.h"
#include "layers/linear.h"
#include "layers/norm.h"
#include "ops/attention.h"
#include "ops/epilogue.h"
#include "ops/features.h"
#include "ops/gcn_norm.h"

namespace rodeo {

/// The convolution of each layer of a Trunk.
enum class TrunkConv { kGcn, kGat, kGatv2, kSage, kGin };
template <>
inline constexpr auto kEnumNames<TrunkConv> = enum_names<TrunkConv>({{TrunkConv::kGcn, "gcn"},
                                                                     {TrunkConv::kGat, "gat"},
                                                                     {TrunkConv::kGatv2, "gatv2"},
                                                                     {TrunkConv::kSage, "sage"},
                                                                     {TrunkConv::kGin, "gin"}});

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
  bool bias = true;  // of the convolutions; kGin's are of its own network and stay

  bool has_classifier() const { return post_linear || jump != TrunkJump::kNone; }
};

struct TrunkOptions {
  std::int64_t in = 0;
  std::int64_t hidden = 16;  // of a layer's output; with attention, of one head
  std::int64_t classes = 0;
  int layers = 2;                            // convolutions
  double dropout = 0.5;                      // of the output of each hidden layer and pre-linear layer
  std::optional<double> input_dropout = {};  // of x; default: dropout
  std::vector<double> layer_dropout = {};    // of the output of each hidden layer; empty: dropout
  TrunkConv conv = TrunkConv::kGcn;
  TrunkParts parts = {};
  // kGat and kGatv2
  std::int64_t heads = 8, out_heads = 1;  // out_heads: of a last layer that returns logits, averaged
  double attention_dropout = 0.6;
  double negative_slope = 0.2;
  AttentionForm form = AttentionForm::kAuto;  // kGat
  SddmmOptions sddmm = {};                    // kGatv2, and kGat where it is composed
  Reduce aggr = Reduce::kMean;                // kSage
  bool train_eps = false;                     // kGin
  SpmmOptions spmm = {};                      // kGcn, kSage, kGin
};

/// Layers of  dropout(activation(norm(conv(h) + linear(h))))  with optional parts: the models of Luo, Shi and
/// Wu, "Classic GNNs are strong baselines" (NeurIPS 2024), and PyG's BasicGNN. Order: input dropout,
/// pre-linear layers (the activation between two, dropout after each; with pre_linear_norm, norm and
/// activation after each), convolutions, classifier. Without a classifier the last convolution returns
/// logits, without norm, activation and dropout. The network of kGin's layers is Linear, BatchNorm, ReLU,
/// Linear. Parameters, named as in PyG's BasicGNN: convs.<i>.*, norms.<i>.*, lin.*; also lins.<i>.*
/// (residual) and pre.<i>.* and pre_norms.<i>.*.
class Trunk : public Module {
 public:
  /// Throws Error for sizes below 1, a dropout outside [0, 1) and a layer_dropout that is not one for each
  /// hidden layer. `random` draws the initial weights; a copy of it draws the dropout masks.
  Trunk(const TrunkOptions& options, Random random, Device device = kCpu, DType dtype = DType::kF32);

  /// x [nodes, in], dense or sparse -> logits [nodes, classes]. kGcn reads gcn_norm(adj); the others read
  /// graph.adj alone: with self loops for attention, without for kSage and kGin.
  Variable forward(const GcnGraph& graph, const Features& x);
  /// The same over the blocks of a mini-batch (datasets/neighbor_sampler.h), one for each layer. kGcn reads
  /// all of a block, the others block.adj alone: sampled edges of the graphs above.
  ///   x [sources of blocks[0], in] -> logits [destinations of the last block, classes]
  /// Throws Error unless there is a block for every layer, and each has as many sources as the one before has
  /// destinations.
  Variable forward(const std::vector<GcnBlock>& blocks, const Features& x);

  /// forward() in evaluation mode, cut into parts that may run on some rows at a time. Throw Error in
  /// training mode.
  ///   x [rows, in] -> the input of layer 0: x, or the output of the pre-linear layers
  Variable evaluate_inputs(const Features& x);
  ///   h [sources, columns] -> the output of a layer: [destinations, columns]
  Variable evaluate_layer(int layer, const GcnBlock& block, const Features& h);
  ///   outputs of all layers with reads_all_layers(), else at least the last, of the same rows -> logits
  Variable evaluate_outputs(const std::vector<Variable>& outputs) const;
  bool reads_all_layers() const {
    return options_.parts.jump != TrunkJump::kNone && options_.parts.jump != TrunkJump::kLast;
  }
  int num_layers() const { return options_.layers; }

 private:
  template <class Graph>
  using Convolve = std::function<Variable(const Graph&, const Features&, RandomKey, const EpilogueOptions&)>;
  struct Norm {
    std::unique_ptr<Module> module;  // null without
    std::function<Variable(const Variable&)> normalize;
  };
  struct PreLayer {
    std::unique_ptr<Linear> linear;
    Norm norm;
  };
  struct Layer {
    std::unique_ptr<Module> conv;
    Convolve<GcnGraph> convolve;
    Convolve<GcnBlock> convolve_block;
    Norm norm;
    std::unique_ptr<Linear> residual;  // null without
    std::int64_t width = 0;            // columns of its output
  };

  bool is_hidden(std::size_t layer) const;
  double dropout_after(std::size_t layer) const;
  void add_convolution(Layer& layer, std::int64_t in, bool hidden, Device device, DType dtype);
  Norm make_norm(std::int64_t width, Device device, DType dtype) const;
  /// graph_of(i): the graph or block of layer i.
  template <class GraphOf>
  Variable run(const GraphOf& graph_of, const Features& x);
  /// The activation that an epilogue applies; activate() applies the others.
  Activation fused_activation() const;
  Features pre_layers(Features h, const std::function<EpilogueOptions(Activation)>& then);
  template <class Graph>
  Variable run_layer(std::size_t i, const Graph& graph, const Features& h, RandomKey key,
                     const EpilogueOptions& after);
  Variable activate(Variable h, const EpilogueOptions& then);
  Variable classify(const std::vector<Variable>& outputs) const;

  TrunkOptions options_;
  Random random_;
  std::vector<PreLayer> pre_;           // "pre.0", "pre_norms.0", ...
  std::vector<Layer> layers_;           // "convs.0", "norms.0", "lins.0", ...
  std::unique_ptr<Linear> classifier_;  // "lin"; null without
};

}  // namespace rodeo
