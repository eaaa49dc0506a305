/// Splits of the edges of a graph for link prediction.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "datasets/dataset.h"
#include "ops/negative_edges.h"

namespace rodeo {

/// Pairs with and without an edge, on the host, i64. Where the graph is undirected, an edge {u, v} is in one
/// direction, drawn at random.
struct EdgeSplit {
  NodePairs train, val, test;
  NodePairs val_negative, test_negative;  // without an edge in any part
  /// Each edge has as many negatives of its own, with its source, in the order of the edges. Edges are then
  /// as in the file: in its order and directions.
  bool val_by_edge = false, test_by_edge = false;
  bool undirected = false;   // every edge has its reverse
  std::int64_t in_both = 0;  // edges of validation that are test edges, too, as in ogbl-collab
};

struct EdgeSplitOptions {
  /// train/val/test as random_split() reads them. Empty: the split of the file, else 85/5/10.
  std::string parts{};
  bool symmetrize = false;   // add the reverse of every edge first
  std::uint64_t seed = 0;    // of the split and of the negatives
  Device sort_on = kCpu;     // that sorts the edges; the split is the same on each
  PairRange among = {};      // what negatives are drawn from
  bool empty_parts = false;  // allowed, and fewer than three edges
};

/// The validation and test edges that a file names (datasets/README.md): /val_edges and /test_edges [2, k],
/// and optionally /val_negative_edges and /test_negative_edges, or /val_negative_targets and
/// /test_negative_targets [k, m]. All other edges are for training. Undefined tensors where the file has
/// none. Throws Error, one line, for a wrong shape or dtype, ids outside [0, num_nodes), a file that has only
/// one of the first two or negatives without them, and one that has negatives of a part twice.
EdgeSplit load_edge_split(const std::string& path, std::int64_t num_nodes);

/// Edges in the parts of a file's split, each undirected one once; zeros where the file has none. Those in
/// both count in both.
struct EdgeSplitSizes {
  std::int64_t train = 0, val = 0, test = 0;
  std::int64_t in_both = 0;  // as in EdgeSplit
};
/// Violations are a positive that is no edge of the graph, and a negative that is an edge; of each part the
/// first. Without these, a part without an edge. `findings` receives them, one line each; without it the
/// first is thrown. Throws Error as load_edge_split().
EdgeSplitSizes edge_split_sizes(const std::string& path, const Dataset& dataset,
                                std::vector<std::string>* findings = nullptr);
/// "2 of 9 validation edges are test edges, too: both parts are scored on them"; empty where none is.
std::string shared_edges_text(std::int64_t in_both, std::int64_t val);

/// Takes the validation and test edges out of the graph, in both directions where it is undirected: message
/// passing over `dataset` then uses training edges only. An edge of the graph that the file names in a part
/// is no training edge, also where the graph has it several times; one that it names in both is in both. Self
/// loops and duplicate edges are dropped; edges become an edge list sorted by (destination, source), with
/// their weights.
///   file     load_edge_split(), or empty
///   returns  as many negatives as positives in each part without negatives of the file: negative_edges() of
///            the whole graph. Those of the file are no edges before `symmetrize`.
/// A function of the edges, the options and the file on every machine. Throws Error for fewer than three
/// edges and a part without an edge, unless options.empty_parts, and the violations of
/// edge_split_sizes().
EdgeSplit take_edge_split(Dataset& dataset, const EdgeSplit& file, const EdgeSplitOptions& options);

}  // namespace rodeo
