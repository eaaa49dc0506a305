#pragma once

#include "layers/convolution.h"

namespace rodeo {

struct AppnpOptions {
  int hops = 10;       // K
  double alpha = 0.1;  // teleport probability
  double dropout = 0;  // of the edges of S, including self loops; a new mask in every hop; training mode only
};

/// Personalized propagation (Klicpera, Bojchevski, Guennemann, "Predict then propagate", ICLR 2019):
///   Z_0 = X,   Z_{k+1} = (1 - alpha) S Z_k + alpha X,   Y = Z_K,   S = D^-1/2 (A + I) D^-1/2.
/// x [nodes, n] -> [nodes, n]. No parameters.
class Appnp : public Convolution {
 public:
  /// Throws Error if hops < 0, or alpha or dropout is out of range.
  explicit Appnp(const AppnpOptions& options);
  /// `key` draws the masks of edge dropout: pass a new one in every call, as in AttentionConv. spmm.reduce is
  /// ignored.
  Variable forward(const GcnGraph& graph, const Variable& x, RandomKey key = {}, SpmmOptions spmm = {}) const;
  /// On a whole graph or selected rows of one. Throws Error for a block.
  Variable convolve(const ConvGraph& graph, Features x, const ConvCall& call) const override;
  std::int64_t width() const override { return 0; }

 private:
  AppnpOptions options_;
};

extern const ConvKind kAppnp;

}  // namespace rodeo
