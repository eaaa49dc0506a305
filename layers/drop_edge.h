#pragma once

#include "layers/convolution.h"

namespace rodeo {

/// DropEdge (Rong et al., ICLR 2020): the graph without a random share p of its edges. Edges from a node to
/// itself stay. Of a whole normalised graph, D^-1/2 is that of the edges that stay; blocks keep their scales,
/// and layers take means over the edges that stay. Masks are those of edge_dropout (ops/edge_dropout.h), so
/// that parallel edges stay or go together. Built on the host, in a time proportional to the edges: not in
/// captured steps. Deterministic, with the same edges on the CPU and on CUDA.
/// Throws Error for p outside [0, 1), selected rows, and a graph that is sharded over ranks.
ConvGraph drop_edges(const ConvGraph& graph, double p, RandomKey key);

}  // namespace rodeo
