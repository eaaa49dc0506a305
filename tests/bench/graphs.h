/// The graphs that are timed.
#pragma once

#include <string>

#include "core/adjacency.h"

namespace rodeo::bench {

struct GraphSource {
  enum class Kind { kSynthetic, kHdf5, kMatrixMarket } kind;
  std::string name;  // of a synthetic size, or of a file
};

struct NamedGraph {
  std::string name;
  Adjacency adj;
  std::int64_t longest = 0;  // edges of the longest row
};

/// Reads or makes a graph; a Matrix Market file may hold any matrix. Values and features of a file are left
/// alone. Rows are destinations, columns are sources. Throws Error for a file that breaks a rule and for a
/// graph without edges.
NamedGraph load_graph(const GraphSource& source, Device device);

}  // namespace rodeo::bench
