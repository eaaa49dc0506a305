/// Loading of the graphs that sparse_bench times.
#pragma once

#include <string>

#include "core/adjacency.h"
#include "datasets/reorder.h"

namespace rodeo::bench {

struct GraphSource {
  enum class Kind { kSynthetic, kHdf5, kMatrixMarket } kind;
  std::string name;     // of a synthetic preset, or the path of a file
  bool shuffle = true;  // synthetic graphs: random node order
  NodeOrder reorder = NodeOrder::kNone;
};

struct NamedGraph {
  std::string name;
  Adjacency adj;
  std::int64_t longest = 0;  // edges of the longest row
};

/// Reads or generates a graph, without edge weights and features. A Matrix Market file may hold any matrix.
/// Rows are destinations, columns are sources. A node order is part of the name: "arxiv-like+rabbit". Throws
/// Error for an invalid file, for a graph without edges, and for a matrix to reorder that is not square.
NamedGraph load_graph(const GraphSource& source, Device device);

}  // namespace rodeo::bench
