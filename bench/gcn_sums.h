/// What a training step of a GCN multiplies by its graph.
#pragma once

#include <cstdint>
#include <vector>

namespace rodeo::bench {

/// What the first layer reads.
enum class FirstInput {
  kSparse,   // A (X W)
  kDropped,  // dense features with dropout
  kKept,     // dense features without: A X is computed before training
};

/// A sum over neighbours.
struct GcnSum {
  std::int64_t columns;
  bool of_features;  // A X: over ranks, each has X of all nodes
};

/// The sums of forward and backward, as GcnConv chooses them.
std::vector<GcnSum> gcn_sums(std::int64_t features, std::int64_t hidden, std::int64_t classes,
                             std::int64_t layers, FirstInput first);

}  // namespace rodeo::bench
