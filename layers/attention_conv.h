/// What the attention layers share: their options, and what becomes of the heads.
#pragma once

#include "core/adjacency.h"
#include "core/random.h"
#include "layers/module.h"
#include "ops/attention.h"
#include "ops/epilogue.h"
#include "ops/features.h"

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
  double negative_slope = 0.2;  // of LeakyReLU, in the layers that have one
  double dropout = 0;           // of the attention weights, in training mode
  bool bias = true;
  bool residual = false;                      // adds x, or x times a learned matrix where the widths differ
  AttentionForm form = AttentionForm::kAuto;  // of GatConv; the scores of the others need their edges
};

/// Base of the layers  Y_i = merge over heads of (sum over j of alpha_ij V_j) (+ residual) (+ b),  where
/// alpha is the softmax of scores over the edges of row i. Rows are destinations. adj is used as it is: for
/// the published layers it holds every self loop once, `add_self_loops(adj).adj`, made when the graph is
/// loaded. A row without edges is zero, but for residual and bias. Glorot weights, zero biases. forward(adj,
/// x, key):  x [nodes, in] -> [nodes, width()].  `key` names the mask of attention dropout and changes from
/// call to call (Random::next()); without dropout, or in evaluation mode, it is not looked at. forward(adj,
/// x, key, then): what follows the bias in the same pass, as epilogue() has it.
class AttentionConv : public Module {
 public:
  /// Number of columns that forward returns.
  std::int64_t width() const;

 protected:
  /// `name` stands in error texts and outlives the layer.
  AttentionConv(const char* name, const AttentionConvOptions& options);
  /// Registers what merge() adds: after the layer's own weights.
  void register_rest(Random& random, Device device, DType dtype);

  /// A learned matrix to all heads, [in, heads * out], and its product with x: [nodes, heads, out].
  Tensor glorot_weight(Random& random, Device device, DType dtype) const;
  Variable project(const Features& x, const Variable& w) const;
  /// y [nodes, heads, out] -> [nodes, width()], then what `then` asks for.
  Variable merge(const Variable& y, const Features& x, const EpilogueOptions& then) const;

  void check_inputs(const Adjacency& adj, const Features& x) const;
  AttentionOptions attention_options(RandomKey key) const;

  const char* name_;
  AttentionConvOptions options_;

 private:
  Variable res_;  // [in, width()]  "res.weight"; undefined without, or where x itself is added
  Variable b_;    // [width()]      "bias"; undefined without bias
};

}  // namespace rodeo
