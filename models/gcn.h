#pragma once

#include <optional>

#include "models/published.h"

namespace rodeo {

struct GcnOptions {
  std::int64_t in = 0;
  std::int64_t hidden = 16;
  std::int64_t classes = 0;
  int layers = 2;
  double dropout = 0.5;
  std::optional<double> input_dropout = {};  // of x; default: dropout
  SpmmOptions spmm = {};
};

inline constexpr TrunkPreset kPublishedGcn{.name = "gcn", .keys = TrunkKeys::kWithDropout};

/// The GCN of Kipf & Welling (ICLR 2017): dropout, convolution, ReLU, ... , dropout, convolution. Returns
/// logits. forward(graph, x) reads gcn_norm(adj); if input_dropout is 0, and x is dense and requires no
/// gradient, D^-1/2 (A + I) D^-1/2 X is computed once and kept (Trunk::forward).
class Gcn : public Trunk {
 public:
  /// Throws Error for sizes below 1 or a dropout outside [0, 1). `random` draws the initial
  /// weights; a copy of it draws the dropout masks.
  explicit Gcn(const GcnOptions& o, Random random, Device device = kCpu, DType dtype = DType::kF32)
      : Trunk(published(o, kGcn, kPublishedGcn), random, device, dtype) {}
};

}  // namespace rodeo
