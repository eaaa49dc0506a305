/// All layers of the library, bound to a small graph: for commands that check each of them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/random.h"
#include "datasets/dataset.h"
#include "layers/module.h"

namespace rodeo {

/// Inputs and sizes for a layer. Its dtype and device are those of x.
struct LayerTask {
  Graph graph;           // as in the dataset; weight is undefined or of x's dtype
  Variable x;            // [nodes, in]
  std::int64_t out = 4;  // output columns, per head
  std::int64_t heads = 2;
  double dropout = 0.3;    // of attention weights, with a fixed mask
  std::uint64_t seed = 0;  // of the parameters and the mask

  std::int64_t in() const { return x.dim(1); }
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

}  // namespace rodeo
