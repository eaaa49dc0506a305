#pragma once

#include <memory>

#include "layers/bipartite.h"
#include "layers/convolution.h"
#include "layers/linear.h"
#include "ops/epilogue_types.h"
#include "ops/spmm.h"

namespace rodeo {

struct SageConvOptions {
  std::int64_t in = 0;
  std::int64_t out = 0;
  Reduce aggr = Reduce::kMean;
  bool normalize = false;   // scales rows of the result to unit length
  bool root_weight = true;  // the term x W_r
  bool bias = true;
  std::int64_t in_dst = 0;  // of the destinations of a bipartite graph; 0: in
};

/// GraphSAGE (Hamilton, Ying, Leskovec, "Inductive representation learning on large graphs", NIPS 2017):
///   y_i = (reduce over the neighbours j of x_j) W_l + b + x_i W_r
/// x [nodes, in] -> [nodes, out]. Rows of adj are destinations; no self loops are added.
/// On a bipartite graph x_j is a source's and x_i a destination's row:
///   adj [n_dst, n_src],  x.src [n_src, in],  x.dst [n_dst, in_dst]  ->  [n_dst, out]
/// Initial weights are those of Linear. Parameters: lin_l.weight, lin_l.bias, lin_r.weight.
class SageConv : public Convolution {
 public:
  SageConv(const SageConvOptions& options, Random& random, Device device = kCpu, DType dtype = DType::kF32);
  /// Sum and mean run before or after the matrix product, whichever is narrower. Sparse x only with these.
  /// spmm.reduce is ignored.
  /// adj may also be a block of a mini-batch [n_dst, n_src] whose first n_dst sources are its destinations:
  /// x [n_src, in] -> [n_dst, out].
  /// `then`, activation and dropout of the result, is fused where a kernel supports it.
  Variable forward(const Adjacency& adj, const Features& x, const SpmmOptions& spmm = {},
                   const EpilogueOptions& then = {}) const;
  /// x.dst may be undefined, Features(), without root_weight. Throws Error for shapes other than those above.
  Variable forward(const Adjacency& adj, const BipartiteFeatures& x, const SpmmOptions& spmm = {}) const;

  Variable convolve(const ConvGraph& graph, Features x, const ConvCall& call) const override;
  std::int64_t width() const override { return options_.out; }
  bool can_be_padded(const ConvGraph& whole, const SpmmOptions& spmm) const override;

 private:
  std::int64_t in_dst() const { return options_.in_dst > 0 ? options_.in_dst : options_.in; }
  /// The formula, without checks.
  Variable combine(const Adjacency& adj, const BipartiteFeatures& x, const SpmmOptions& spmm,
                   const EpilogueOptions& then) const;
  /// The formula on a block: one product of the features of neighbours and targets, side by side, with both
  /// weights.
  Variable combine_in_block(const Adjacency& adj, const Features& x, SpmmOptions spmm,
                            const EpilogueOptions& then) const;

  SageConvOptions options_;
  Linear neighbours_;             // "lin_l"
  std::unique_ptr<Linear> root_;  // "lin_r"; null without root_weight
};

extern const ConvKind kSage;

}  // namespace rodeo
