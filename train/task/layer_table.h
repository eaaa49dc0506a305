/// The library's layers, each bound to a small graph, for commands that go through all of them.
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

/// What a layer of the table is made for. dtype and device are those of x.
struct LayerTask {
  Graph graph;           // without self loops of ours; weight, where defined, of x's dtype
  Variable x;            // [nodes, in]
  std::int64_t out = 4;  // columns of the layer's result, of one head where there are several
  std::int64_t heads = 2;
  double dropout = 0.3;    // of attention weights, by a fixed mask
  std::uint64_t seed = 0;  // of the parameters and that mask

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

/// All layers, by the names that rodeo_gradcheck --layer takes.
std::span<const LayerEntry> layer_table();
/// "gcn, gat, ..."
std::string layer_names();
/// Throws Error for an unknown name, naming the choices.
const LayerEntry& find_layer(std::string_view name);

}  // namespace rodeo
