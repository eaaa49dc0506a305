/// Shared code of the attention layers: options, merging of heads, residual, bias and epilogue.
#pragma once

#include "core/adjacency.h"
#include "core/random.h"
#include "layers/bipartite.h"
#include "layers/convolution.h"
#include "ops/epilogue.h"

namespace rodeo {

enum class HeadMerge {
  kConcat,  // [nodes, heads * out]
  kMean,    // [nodes, out]
};

struct AttentionConvOptions {
  std::int64_t in = 0;
  std::int64_t out = 0;  // of one head
  std::int64_t heads = 1;
  HeadMerge merge = HeadMerge::kConcat;
  double negative_slope = 0.2;  // of LeakyReLU, if the layer has one
  double dropout = 0;           // of the attention weights, in training mode
  bool bias = true;
  // Adds x, or x times a learned matrix if the widths differ. TransformerConv: always a matrix.
  bool residual = false;
  bool beta = false;  // TransformerConv only: a learned gate between the residual and the heads
  AttentionForm form = AttentionForm::kAuto;
  SddmmOptions sddmm = {};                    // of dot products along edges: of composed forms
  SpmmAlgorithm spmm = SpmmAlgorithm::kAuto;  // of the sums of composed forms
  // Columns of the destinations of a bipartite graph. GatConv has a matrix for each side then. 0: those of
  // `in`, and one matrix in GatConv.
  std::int64_t in_dst = 0;
  std::int64_t edge_in = 0;  // columns of edge features, of Gatv2Conv and TransformerConv; 0: none
};

/// The options of a layer of a model.
AttentionConvOptions attention_options(const ConvOptions& options);

/// Base of the layers  Y_i = merge over heads of (sum over j of alpha_ij V_j) (+ residual) (+ b),  where
/// alpha is the softmax of scores over the edges of row i. Glorot weights, zero biases, where the layer does
/// not say otherwise.
/// - adj: rows are destinations. No self loops are added: for the published layers pass
/// add_self_loops(adj).adj.
///   A row without edges is zero before residual and bias.
/// - forward(adj, x, key):  x [nodes, in] -> [nodes, width()]. `key` draws the mask of attention dropout:
/// pass a new
///   one in every call (Random::next()). Ignored without dropout and in evaluation mode.
/// - forward(adj, {x_src, x_dst}, key) on a bipartite graph, where i is a destination and j a source:
///     adj [n_dst, n_src],  x_src [n_src, in],  x_dst [n_dst, in_dst]  ->  [n_dst, width()].
///   The residual is of x_dst. Throws Error for other shapes.
/// - forward(adj, x, key, then) also applies epilogue() with `then` after the bias, in the same pass.
class AttentionConv : public Convolution {
 public:
  /// Number of columns that forward returns.
  std::int64_t width() const override;

 protected:
  /// `name` is the prefix of error texts and must outlive the layer.
  AttentionConv(const char* name, const AttentionConvOptions& options);
  /// Registers the parameters of merge(). Call it after the layer's own weights are registered.
  void register_rest(Random& random, Device device, DType dtype);

  /// Features of both kinds of nodes of a block or of selected rows.
  static BipartiteFeatures both_sides(const ConvGraph& graph, const Features& x);

  /// options_.in_dst, or options_.in where that is 0.
  std::int64_t in_dst() const;

  /// Initial value of a matrix [in, heads * out], and its product with x: [nodes, heads, out].
  Tensor glorot_weight(std::int64_t in, Random& random, Device device, DType dtype) const;
  Variable project(const Features& x, const Variable& w) const;
  /// y [nodes, heads, out] -> [nodes, width()]
  Variable merge_heads(const Variable& y) const;
  /// merge_heads, with the residual of x, bias and `then` applied.
  Variable merge(const Variable& y, const Features& x, const EpilogueOptions& then) const;

  void check_inputs(const Adjacency& adj, const Features& x) const;
  void check_inputs(const Adjacency& adj, const BipartiteFeatures& x) const;
  /// Throws Error unless f is [edges, edge_in], or undefined where the layer reads no edge features.
  void check_edge_features(const Adjacency& adj, const Variable& f) const;
  AttentionOptions attention_options(RandomKey key) const;

  const char* name_;
  AttentionConvOptions options_;

 private:
  Variable res_;  // [in_dst, width()]  "res.weight"; undefined without residual or if in_dst == width()
  Variable b_;    // [width()]          "bias"; undefined without bias
};

}  // namespace rodeo
