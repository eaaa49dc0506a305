/// A graph in memory of fixed sizes, for work that is captured once and runs on many graphs.
#pragma once

#include <vector>

#include "core/adjacency.h"
#include "ops/copy_padded_types.h"

namespace rodeo {

/// Holds one graph after another in the same arrays. Rows and columns beyond those of the graph have no
/// edges: sums and means of them are 0, and so are their gradients. adj() has the capacities as its sizes,
/// num_edges() among them. Sums and means over neighbours (spmm.h, algorithm csr, without edge weights),
/// fused attention (attention.h), and their gradients are those of the graph. Operators that plan for a
/// graph, or read arrays of edges, must not be given adj(). Deterministic.
class PaddedGraph {
 public:
  /// Memory for graphs of up to rows x cols with `edges` edges.
  PaddedGraph(std::int64_t rows, std::int64_t cols, std::int64_t edges, Device device);

  /// One graph for the lifetime of this object: load() overwrites its arrays in stream order.
  const Adjacency& adj() const { return adj_; }
  /// Derives from `graph` what load() copies: on another stream than load(), perhaps.
  void prepare(const Adjacency& graph) const;
  /// Enqueues copies of the arrays of `graph`, and waits for nothing. Throws Error where it is larger than
  /// the capacity or on another device.
  void load(const Adjacency& graph) const;
  /// The parts of load(), for callers that copy several graphs at once: its copies, to be run by
  /// copy_padded(), and what follows them.
  void add_copies(const Adjacency& graph, std::vector<PaddedCopy>& copies) const;
  void finish_load() const;
  /// To be called when the work has run once: load() skips the transpose from now on where the work has not
  /// used it. Throws Error if the work has made plans of adj(), which the next graph would make wrong.
  void keep_what_was_used();

 private:
  Adjacency adj_, transposed_;
  bool needs_transpose_ = true;
};

}  // namespace rodeo
