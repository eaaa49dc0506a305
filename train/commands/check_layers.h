/// Gradient checks of all layers of the library on a subgraph of a dataset.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/gradcheck.h"
#include "core/random.h"
#include "datasets/dataset.h"
#include "layers/module.h"
#include "ops/gcn_norm.h"

namespace rodeo {

struct CheckLayerOptions {
  std::int64_t nodes = 30;          // of the subgraph (datasets/subgraph.h)
  std::int64_t out = 4;             // output columns of the layer, per head
  std::int64_t max_elements = 100;  // checked per input and parameter; 0: all
  std::uint64_t seed = 0;           // of the subgraph, parameters, projections and checked elements
};

/// Inputs and sizes for a layer. Its dtype and device are those of x.
struct LayerTask {
  Graph graph;             // as in the dataset; weight is undefined or of x's dtype
  Variable weight;         // graph.weight
  GcnGraph normalized;     // gcn_norm() of the graph
  Adjacency looped;        // the graph with self loops
  Variable x;              // [nodes, in]
  std::int64_t out = 4;    // output columns, per head
  std::uint64_t seed = 0;  // of the parameters and the mask

  std::int64_t in() const { return x.dim(1); }
  /// The key of dropout masks, which are fixed.
  RandomKey key() const { return {seed, 1}; }
};

struct BoundLayer {
  std::unique_ptr<Module> module;
  std::function<Variable()> forward;  // of task.x
};

struct LayerEntry {
  std::string_view name;  // "gat"
  BoundLayer (*make)(const LayerTask& task, Random random);
};

/// All layers, by the names of rodeo_gradcheck --layer.
std::span<const LayerEntry> layer_table();
/// "gcn, gat, ..."
std::string layer_names();
/// Throws Error listing the choices for an unknown name.
const LayerEntry& find_layer(std::string_view name);

/// A subgraph of `dataset` in float64 on `device`. x: the features, rows divided by their sums, plus noise in
/// [-0.5, 0.5); without features, 16 columns of noise. The noise moves the many zeros of real features off
/// the kinks of ReLU. Throws Error for nodes or out < 1.
LayerTask make_layer_task(const Dataset& dataset, Device device, const CheckLayerOptions& options = {});

/// gradcheck of a layer's parameters and its input x.
GradcheckResult check_layer(const LayerEntry& layer, const LayerTask& task, const CheckLayerOptions& options);

}  // namespace rodeo
