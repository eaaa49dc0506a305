#pragma once

#include "layers/sg_conv.h"
#include "models/trunk.h"

namespace rodeo {

struct SgcOptions {
  std::int64_t in = 0;
  std::int64_t classes = 0;
  int hops = 2;
  SpmmOptions spmm = {};
};

inline constexpr TrunkPreset kPublishedSgc{.name = "sgc"};

/// The SGC of Wu et al. (ICML 2019): logistic regression on S^K X. With dense X, S^K X is computed once and
/// kept; with sparse X it is S^K (X W) in each call. The graph is gcn_norm(adj).
class Sgc : public Trunk {
 public:
  /// Throws Error for sizes below 1.
  explicit Sgc(const SgcOptions& o, Random random, Device device = kCpu, DType dtype = DType::kF32)
      : Trunk({.in = o.in,
               .classes = o.classes,
               .dropout = 0,
               .conv = &kSgc,
               .preset = &kPublishedSgc,
               .layer = {.hops = o.hops},
               .spmm = o.spmm},
              random, device, dtype) {}
};

}  // namespace rodeo
