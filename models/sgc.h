#pragma once

#include "layers/sg_conv.h"

namespace rodeo {

struct SgcOptions {
  std::int64_t in = 0;
  std::int64_t classes = 0;
  int hops = 2;
  SpmmOptions spmm = {};
};

/// The SGC of Wu et al. (ICML 2019): logistic regression on S^K X. With dense X, S^K X is computed once and
/// cached; with sparse X it is S^K (X W) in each call.
class Sgc : public Module {
 public:
  /// Throws Error for sizes below 1.
  Sgc(const SgcOptions& options, Random random, Device device = kCpu, DType dtype = DType::kF32);

  /// x [nodes, in] -> logits [nodes, classes]. The memory of x must not be modified (SgConv).
  Variable forward(const GcnGraph& graph, const Features& x) const;

 private:
  SgcOptions options_;
  SgConv conv_;  // "conv1"
};

}  // namespace rodeo
