/// Statistics of a dataset, and estimates of the device memory that training takes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "datasets/dataset.h"

namespace rodeo {

struct GraphFacts {
  std::int64_t nodes = 0, edges = 0;
  std::int64_t isolated = 0;  // nodes without edges
  std::int64_t self_loops = 0;
  std::int64_t duplicates = 0;  // repetitions of an edge
  bool symmetric = false;       // the transpose is the same multigraph
  std::int64_t max_degree = 0;  // in-degree
  double mean_degree = 0;
  std::int64_t median_degree = 0;
  std::vector<std::int64_t> histogram;  // in-degrees: [0] is degree 0, [i] is [2^(i - 1), 2^i)

  std::vector<std::int64_t> class_sizes;  // [classes]: nodes, or graphs of a set, with this label
  std::int64_t unlabelled = 0;
  std::int64_t missing = 0;         // of several labels or targets per node
  std::optional<double> homophily;  // edge homophily: fraction of edges that join equal labels
  std::optional<double> density;    // fraction of nonzero features
};

/// `dataset` is on the host.
GraphFacts graph_facts(const Dataset& dataset);

/// Estimated bytes on the device while the published model (GCN: 16 hidden; GAT: 8 heads of 8) is trained:
/// graph, features, activations and their gradients, without the workspace of libraries. Features and
/// activations are of `dtype`. Features whose density is below kSparseBelowOnCuda are sparse, and those that
/// the file has as sparse below kSparseBelowOnCpu. A graph that is not symmetric also stores its transpose.
std::int64_t gcn_training_bytes(const Dataset& dataset, const GraphFacts& facts, DType dtype);
std::int64_t gat_training_bytes(const Dataset& dataset, const GraphFacts& facts, DType dtype);

}  // namespace rodeo
