#pragma once

#include "ops/features.h"

namespace rodeo {

/// Features of the two kinds of nodes of a bipartite graph: PyG's (x_src, x_dst). Its Adjacency is
/// [destinations, sources]. Layers that take it are called with both in braces, in PyG's order:
///   conv.forward(adj, {x_src, x_dst})
/// No self loops are added: a source and a destination of one number are different nodes. (PyG's GATConv adds
/// them by default, also here: compare with add_self_loops=False.)
struct BipartiteFeatures {
  Features src;  // [adj.cols(), in]
  Features dst;  // [adj.rows(), in_dst]
};

}  // namespace rodeo
