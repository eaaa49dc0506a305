/// Random graphs of several node types, for benchmarks.
#pragma once

#include <string>
#include <string_view>

#include "datasets/hetero_dataset.h"

namespace rodeo::bench {

/// Whether the name is a preset of several node types, or "mag/N", an N-th of one.
bool is_hetero_graph(std::string_view name);

/// All types have features. "mag/100" has a hundredth of the nodes and edges, and at most 16 classes. Throws
/// Error for an N below 1. A function of the name only. On the host.
HeteroDataset draw_hetero_graph(const std::string& name);

}  // namespace rodeo::bench
