#pragma once

#include <optional>

#include "layers/appnp.h"
#include "models/published.h"

namespace rodeo {

struct AppnpModelOptions {
  std::int64_t in = 0;
  std::int64_t hidden = 64;
  std::int64_t classes = 0;
  int layers = 2;                            // of the multilayer perceptron
  double dropout = 0.5;                      // of the input of every layer
  std::optional<double> input_dropout = {};  // of x; default: dropout
  int hops = 10;
  double alpha = 0.1;
  double edge_dropout = 0;
  SpmmOptions spmm = {};
};

inline constexpr TrunkPreset kPublishedAppnp{.name = "appnp"};

/// The APPNP of Klicpera et al. (ICLR 2019): dropout, linear, ReLU, ... , dropout, linear, propagation.
/// Returns logits. The graph is gcn_norm(adj).
class AppnpModel : public Trunk {
 public:
  /// Throws Error for sizes below 1 and options that Appnp rejects. `random` draws the initial
  /// weights; a copy of it draws the dropout masks.
  explicit AppnpModel(const AppnpModelOptions& o, Random random, Device device = kCpu,
                      DType dtype = DType::kF32)
      : Trunk(published(o, kAppnp, kPublishedAppnp,
                        {.hops = o.hops, .alpha = o.alpha, .edge_dropout = o.edge_dropout}),
              random, device, dtype) {}
};

}  // namespace rodeo
