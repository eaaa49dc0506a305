#pragma once

#include "core/random.h"
#include "layers/module.h"
#include "ops/epilogue.h"
#include "ops/features.h"
#include "ops/gcn_norm.h"

namespace rodeo {

/// Graph convolution: Y = D^-1/2 (A + I) D^-1/2 X W + b (Kipf & Welling, ICLR 2017).
/// x [nodes, in] -> [nodes, out].   Glorot weights, zero bias.
class GcnConv : public Module {
 public:
  GcnConv(std::int64_t in, std::int64_t out, Random& random, bool bias = true, Device device = kCpu,
          DType dtype = DType::kF32);
  /// Aggregates on the cheaper side: (A X) W and A (X W) are equal but for rounding, the cost is not. The
  /// first where in < out, or in < 2 out while weights learn from an x that wants no gradient: A X W has two
  /// products with A then, forward and backward, (A X) W one. Of sparse x A (X W).
  Variable forward(const GcnGraph& graph, const Features& x, const SpmmOptions& options = {}) const;

  /// The same as a link of a chain that saves passes over memory.
  struct Link {
    enum class Input {
      kPlain,       // x is X
      kScaled,      // x is D^-1/2 X already
      kPropagated,  // x is D^-1/2 (A + I) D^-1/2 X already: what is left is the product with W
    };
    Input input = Input::kPlain;
    EpilogueOptions then = {};  // what follows Y in the same pass: relu, dropout, post_scale; not pre_scale
  };
  Variable forward(const GcnGraph& graph, const Features& x, const SpmmOptions& options,
                   const Link& link) const;

 private:
  std::int64_t in_, out_;
  Variable w_;  // [in, out]  "lin.weight", PyG's transposed
  Variable b_;  // [out]      "bias"; undefined without bias
};

}  // namespace rodeo
