/// Random sets of small graphs, for classification of graphs.
#pragma once

#include <cstdint>
#include <string>

#include "datasets/dataset.h"

namespace rodeo {

struct GraphSetOptions {
  std::int64_t graphs = 300;
  std::int64_t classes = 3;  // 2 or 3
  std::int64_t min_nodes = 12, max_nodes = 40;
  std::int64_t features = 4;  // one-hot, drawn without regard to the class
  std::string name = "graphs";
  std::uint64_t seed = 0;
};

/// Graphs whose class is their structure; features say nothing about it. All have about twice as many
/// undirected edges as nodes.
///   class 0  a ring in which each node has edges to the next two, a tenth of them moved to a random node
///            (Watts & Strogatz, Nature 1998)
///   class 1  edges between uniformly drawn nodes
///   class 2  each node attaches by two edges to nodes drawn by their degree (Barabasi & Albert, Science
///   1999)
/// Classes take turns. Edges are in both directions, without self loops and duplicates. A function of the
/// options only. Throws Error for options out of range.
Dataset synthesize_graphs(const GraphSetOptions& options);

}  // namespace rodeo
