/// The gradients of the library's layers, checked on a part of a dataset.
#pragma once

#include <cstdint>
#include <string>

#include "core/gradcheck.h"
#include "train/task/layer_table.h"

namespace rodeo {

struct CheckLayerOptions {
  std::int64_t nodes = 30;          // of the subgraph (datasets/subgraph.h)
  std::int64_t out = 4;             // columns of the layer's result, of one head
  std::int64_t max_elements = 100;  // of each input and parameter; 0: all
  std::uint64_t seed = 0;           // of the subgraph, the parameters, the projections and the elements
};

/// `dataset`, cut down and in float64 on `device`. Features whose rows sum to one, and noise in [-0.5, 0.5)
/// on them: those of real graphs are full of zeros, which stand on the kinks of ReLU and the like. Where the
/// dataset has no features, 16 of noise alone.
/// Throws Error for nodes or out < 1.
LayerTask make_layer_task(const Dataset& dataset, Device device, const CheckLayerOptions& options = {});

/// gradcheck of one layer's parameters and its input x.
GradcheckResult check_layer(const LayerEntry& layer, const LayerTask& task, const CheckLayerOptions& options);

}  // namespace rodeo
