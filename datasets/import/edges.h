/// What importers of edges share.
#pragma once

#include <string>

#include "datasets/dataset.h"

namespace rodeo {

/// The file's name without folder, .gz and the ending before it.
std::string stem_of(const std::string& path);

/// Adds the reverse of every edge, with its weight and features, and drops duplicates. The result is sorted
/// by (source, destination).
void make_undirected(Dataset& dataset);

/// Drops the edges from a node to itself, their weights and features. The others keep their order.
void drop_self_loops(Dataset& dataset);

}  // namespace rodeo
