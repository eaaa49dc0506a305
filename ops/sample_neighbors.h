/// One layer of neighbour sampling (Hamilton, Ying, Leskovec, "Inductive representation learning on large
/// graphs", NIPS 2017). Users sample with NeighborSampler (datasets/neighbor_sampler.h), which calls this.
#pragma once

#include "core/adjacency.h"
#include "ops/sample_types.h"

namespace rodeo {

/// Marks of nodes while they are numbered: i32 [nodes], all kUnmarked before and after a call.
///   graph  [rows, nodes], or sharded over ranks: then of the nodes of all
/// Deterministic. Throws Error if there is no memory for it.
Tensor make_node_marks(const Adjacency& graph);

/// Draws up to `fanout` in-neighbours of each target: edges of the rows of `graph`.
///   graph        [n, n]; row i holds the edges into node i
///   targets      i64 [t], different nodes in [0, n); only the first num_targets[0] of them are used
///   num_targets  i64 [1], on the device of the graph
/// Of a graph that is sharded over ranks, each draws the edges of any targets, and the ranks that have these
/// edges send it their sources: a collective call, with the result of the whole graph. The host waits then.
/// Else nothing waits for the device: the arrays of the result have the sizes that the fan-out allows, and
/// say themselves how much of them is used. With kAllNeighbors the host waits once, for the number of edges.
///
/// Without replacement (Floyd's algorithm; Bentley, Floyd, "Programming pearls: a sample of brilliance",
/// CACM 1987) a row of at most `fanout` edges is taken whole, in its order; else every subset of `fanout`
/// edges has the same probability. With replacement every row that has edges gives `fanout` independent
/// draws. Draws are a function of (key, node, number of the draw): the same on all devices, for any number of
/// threads and any other targets. A draw from m edges is off from the uniform distribution by m / 2^64.
/// Sources are numbered in the order: targets, then the others by their first edge.
/// Deterministic. Throws Error when shapes, dtypes or devices disagree, for a fan-out of 0 or below -1, and
/// if targets and edges together could be more than 2^31 - 1.
NeighborSample sample_neighbors(const Adjacency& graph, const Tensor& targets, const Tensor& num_targets,
                                const SampleOptions& options, const SampleKey& key, const Tensor& marks);

/// sample_neighbors() of targets that have several rows each, one for each relation: every row keeps up to
/// `fanout` edges. Rows and columns of the result are those of targets, the edges of a target in the order of
/// its rows. Draws are those of the rows.
///   graph    [r, n]
///   rows_of  [n, r]; row i holds the rows of node i
///   targets  i64 [t], different nodes in [0, n)
///   marks    make_node_marks(graph)
/// The host waits for the number of rows. Deterministic, and throws Error, as sample_neighbors() does.
NeighborSample sample_rows_of(const Adjacency& graph, const Adjacency& rows_of, const Tensor& targets,
                              const SampleOptions& options, const SampleKey& key, const Tensor& marks);

/// The graph [rows, cols] of the first `edges` sampled edges: what is used of a sample, once the host knows
/// it: row_ptr i64 [rows + 1], col i32 [edges]. Products with this graph and its transpose measure nothing
/// and do not wait for the device. Deterministic. Throws Error for sizes beyond the capacities of the sample.
Adjacency sampled_graph(const NeighborSample& sample, std::int64_t rows, std::int64_t cols,
                        std::int64_t edges);

}  // namespace rodeo
