/// A small dataset for short training runs.
#pragma once

#include "datasets/synthetic.h"

namespace rodeo::test {

/// A graph like Cora with four edges per node, 30 features, and half of the nodes in the training set.
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
