/// Loading of the graphs that sparse_bench times.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/adjacency.h"
#include "datasets/reorder.h"

namespace rodeo::bench {

struct GraphSource {
  enum class Kind { kSynthetic, kHdf5, kMatrixMarket, kTwin, kDense } kind;
  std::string name;                  // of a synthetic preset, a twin or a dense graph, or the path of a file
  std::optional<bool> shuffle = {};  // synthetic and dense graphs: random node order; else that of the preset
  NodeOrder reorder = NodeOrder::kNone;
};

struct NamedGraph {
  std::string name;
  Adjacency adj;
  Tensor values = {};        // f64 or f32 [edges]: the values of the file; undefined if it has none
  std::int64_t longest = 0;  // edges of the longest row
};

/// The edge weights of a benchmark.
enum class Weights {
  kNone,    // ones that are not stored
  kRandom,  // in [-1, 1)
  kFile,    // the values of the file
};
std::string_view name(Weights weights);
/// "none", "random", "file" or "both" (none and random). Throws Error otherwise.
std::vector<Weights> parse_weights(const std::string& text);

/// The weights of a graph in `dtype`; undefined for kNone. For 16-bit types, values of a file are divided by
/// the largest magnitude, so that none overflows. Throws Error for kFile if the file has no values.
Tensor make_weights(const NamedGraph& graph, Weights weights, DType dtype);

/// Reads or generates a graph, without features. A Matrix Market file may hold any matrix.
/// Rows are destinations, columns are sources. A node order is part of the name: "arxiv-like+rabbit". Throws
/// Error for an invalid file, for a graph without edges, and for a matrix to reorder that is not square.
NamedGraph load_graph(const GraphSource& source, Device device);

}  // namespace rodeo::bench
