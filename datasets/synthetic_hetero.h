/// Random graphs of several node types, with the sizes of well-known ones.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "datasets/hetero_dataset.h"

namespace rodeo {

struct HeteroOptions {
  std::string preset = "mag";
  std::int64_t nodes = -1;     // of all types together; edges and the split shrink with it; -1: the preset's
  std::int64_t features = -1;  // of each type that has some; -1: the preset's
  std::int64_t classes = -1;   // of the target type; -1: the preset's
  bool all_features = false;   // also of types that have none in the preset
  std::uint64_t seed = 0;
};

/// "mag": ogbn-mag (Hu et al., NeurIPS 2020), whose papers alone have features. "igbh-tiny" and "igbh-small":
/// heterogeneous graphs of IGB (Khatua et al., KDD 2023); the sizes of the second are those that a
/// script for DGL's GraphBolt checks the files against.
bool is_hetero_preset(std::string_view name);
std::string hetero_preset_names();
/// Nodes of all types. Throws Error for other names.
std::int64_t hetero_preset_nodes(std::string_view name);

/// Papers cite, and share topics and authors, mostly within their class; features are the mean of the class
/// plus noise. A few nodes have many edges. Duplicate edges are kept. A function of the options only. On the
/// host. Throws Error for options out of range.
HeteroDataset synthesize_hetero(const HeteroOptions& options);

}  // namespace rodeo
