/// A dataset for tests that train for a moment.
#pragma once

#include "datasets/synthetic.h"

namespace rodeo::test {

/// A graph like Cora with four edges a node, 30 features, and half of the nodes to train on.
inline Dataset tiny_dataset(std::int64_t nodes = 300, std::uint64_t seed = 0) {
  SyntheticOptions options = synthetic_preset("cora");
  options.nodes = nodes;
  options.edges = 4 * nodes;
  options.features = 30;
  options.split = "50/25/25";
  options.seed = seed;
  return synthesize(options);
}

}  // namespace rodeo::test
