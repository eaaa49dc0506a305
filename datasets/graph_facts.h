/// What there is to say about a dataset before training on it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "datasets/dataset.h"

namespace rodeo {

struct GraphFacts {
  std::int64_t nodes = 0, edges = 0;
  std::int64_t isolated = 0;  // nodes that no edge begins or ends at
  std::int64_t self_loops = 0;
  std::int64_t duplicates = 0;  // edges that are there before
  bool symmetric = false;       // each edge in both directions, equally often
  std::int64_t max_degree = 0;  // edges that end at a node
  double mean_degree = 0;
  std::int64_t median_degree = 0;
  std::vector<std::int64_t> histogram;  // [0]: degree 0, [i]: degree in [2^(i - 1), 2^i)

  std::vector<std::int64_t> class_sizes;  // [classes]; with several labels a node, nodes that have the class
  std::int64_t unlabelled = 0;
  std::optional<double> homophily;  // share of the edges between labelled nodes that join equal labels
  std::optional<double> density;    // share of features that are not 0
};

/// Of a dataset on the host.
GraphFacts graph_facts(const Dataset& dataset);

/// Bytes on the device while a model is trained on the graph with features and activations of `dtype`: graph,
/// features, activations and their gradients of the published models (GCN: 16 hidden, GAT: 8 heads of 8). An
/// estimate, without the libraries' workspace. Edges count as many as the graph has, in both directions where
/// it is not symmetric.
std::int64_t gcn_training_bytes(const Dataset& dataset, bool symmetric, DType dtype);
std::int64_t gat_training_bytes(const Dataset& dataset, bool symmetric, DType dtype);

}  // namespace rodeo
