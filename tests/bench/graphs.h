/// The graphs that are timed.
#pragma once

#include <string>

#include "core/adjacency.h"
#include "datasets/reorder.h"

namespace rodeo::bench {

struct GraphSource {
  enum class Kind { kSynthetic, kHdf5, kMatrixMarket } kind;
  std::string name;     // of a synthetic size, or of a file
  bool shuffle = true;  // a synthetic graph's nodes
  NodeOrder reorder = NodeOrder::kNone;
};

struct NamedGraph {
  std::string name;
  Adjacency adj;
  std::int64_t longest = 0;  // edges of the longest row
};

/// Reads or makes a graph; a Matrix Market file may hold any matrix. Values and features of a file are left
/// alone. Rows are destinations, columns are sources. An order is part of the name: "arxiv-like+rabbit".
/// Throws Error for a file that breaks a rule and for a graph without edges, or where a matrix to reorder is
/// not square.
NamedGraph load_graph(const GraphSource& source, Device device);

}  // namespace rodeo::bench
