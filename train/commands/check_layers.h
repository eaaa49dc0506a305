/// Gradient checks of the library's layers on a subgraph of a dataset.
#pragma once

#include <cstdint>
#include <string>

#include "core/gradcheck.h"
#include "train/commands/layer_table.h"

namespace rodeo {

struct CheckLayerOptions {
  std::int64_t nodes = 30;          // of the subgraph (datasets/subgraph.h)
  std::int64_t out = 4;             // output columns of the layer, per head
  std::int64_t max_elements = 100;  // checked per input and parameter; 0: all
  std::uint64_t seed = 0;           // of the subgraph, parameters, projections and checked elements
};

/// A subgraph of `dataset` in float64 on `device`. x: the features, rows divided by their sums, plus noise in
/// [-0.5, 0.5); without features, 16 columns of noise. The noise moves the many zeros of real features off
/// the kinks of ReLU. Throws Error for nodes or out < 1.
LayerTask make_layer_task(const Dataset& dataset, Device device, const CheckLayerOptions& options = {});

/// gradcheck of a layer's parameters and its input x.
GradcheckResult check_layer(const LayerEntry& layer, const LayerTask& task, const CheckLayerOptions& options);

}  // namespace rodeo
