#pragma once

#include "layers/aggregate.h"
#include "layers/convolution.h"
#include "ops/epilogue.h"

namespace rodeo {

/// Graph convolution: Y = D^-1/2 (A + I) D^-1/2 X W + b (Kipf & Welling, ICLR 2017).
/// x [nodes, in] -> [nodes, out].   Glorot weights, zero bias.
class GcnConv : public Convolution {
 public:
  GcnConv(std::int64_t in, std::int64_t out, Random& random, bool bias = true, Device device = kCpu,
          DType dtype = DType::kF32);
  /// Computes (A X) W or A (X W), whichever is cheaper; they are equal up to rounding. (A X) W if in < out.
  /// Also if in < 2 out, W requires a gradient and x does not: training then multiplies by A once instead of
  /// twice. A (X W) for sparse x.
  Variable forward(const GcnGraph& graph, const Features& x, const SpmmOptions& options = {}) const;

  /// What a model fuses with this layer to save passes over memory.
  struct Fusion {
    enum class Input {
      kPlain,       // x is X
      kScaled,      // x is D^-1/2 X
      kPropagated,  // x is D^-1/2 (A + I) D^-1/2 X: only the product with W is left
    };
    Input input = Input::kPlain;
    EpilogueOptions epilogue = {};  // applied to Y in the same pass; its pre_scale must be undefined
  };
  /// Frees x after its last use where it is moved in.
  Variable forward(const GcnGraph& graph, Features x, const SpmmOptions& options, const Fusion& fusion) const;
  /// Forward over a block of a mini-batch.   x [sources, in] -> [destinations, out]
  Variable forward(const GcnBlock& block, const Features& x, const SpmmOptions& options,
                   EpilogueOptions then) const;

  /// With keeps_input, D^-1/2 (A + I) D^-1/2 X is computed once and kept while the graph and the memory of x
  /// are the same: the layer is then only a matrix product. Results are equal up to rounding.
  Variable convolve(const ConvGraph& graph, Features x, const ConvCall& call) const override;
  std::int64_t width() const override { return out_; }
  bool can_be_padded(const ConvGraph& whole, const SpmmOptions& spmm) const override;

 private:
  /// On a whole graph or selected rows.
  Variable multiply(const ConvGraph& graph, Features x, const SpmmOptions& options, bool is_scaled,
                    EpilogueOptions then) const;

  std::int64_t in_, out_;
  Variable w_;                                   // [in, out]  "lin.weight", PyG's transposed
  Variable b_;                                   // [out]      "bias"; undefined without bias
  mutable KeptProduct propagated_, all_scales_;  // the latter: col_scale of all ranks
};

extern const ConvKind kGcn;

}  // namespace rodeo
