/// Positional encodings of nodes: features that say where in the graph a node is.
#pragma once

#include <cstdint>
#include <vector>

#include "datasets/dataset.h"

namespace rodeo {

inline constexpr std::int64_t kMostLaplacianVectors = 128;
inline constexpr double kMostEncodingBytes = 64.0 * (1 << 30);

/// Random-walk encoding (Dwivedi et al., "Graph neural networks with learnable structural and positional
/// representations", ICLR 2022), as PyG's AddRandomWalkPE: entry (i, k - 1) is the probability that a walk
/// from node i is at node i after k steps, the diagonal of (D^-1 A)^k, k = 1 .. steps. A is [sources,
/// destinations] with edge weights, D its row sums. Self loops and repeated edges count.
///   returns  f32 [nodes, steps], on the host
/// A walk follows the direction of edges, and ends at a node without outgoing weight. So an isolated node has
/// zeros, and so has a directed graph without cycles. Steps may exceed the number of nodes.
/// Exact: (D^-1 A)^k is multiplied block by block of its columns on `device`, nodes x edges x steps
/// products in all. Memory beside the graph: 4 steps bytes a node, and 1.5 KiB a node on `device`.
/// Throws Error for negative weights, for more than 10^14 products (CUDA: 10^16), and for more than
/// kMostEncodingBytes. Deterministic on one device.
Tensor random_walk_encoding(const Graph& graph, std::int64_t steps, Device device = kCpu);

/// Laplacian encoding (Dwivedi et al., "Benchmarking graph neural networks", 2020), as PyG's
/// AddLaplacianEigenvectorPE on a connected graph: the eigenvectors of the `vectors` smallest non-zero
/// eigenvalues of L = I - D^-1/2 A D^-1/2. Self loops are left out, repeated edges count.
///   returns  f32 [nodes, vectors], on the host; columns of norm 1 by ascending eigenvalue, zeros where the
///            graph has no more: it has as many as nodes less components
/// Every component of the graph has one eigenvalue 0, of the vector D^1/2 1, which says nothing of a place.
/// All of these are left out; PyG leaves out one of them. An isolated node has zeros.
/// The sign: the first entry that reaches 99 % of a column's largest magnitude is positive. Within an
/// eigenspace of several dimensions the vectors depend on `seed`.
/// Subspace iteration with a Chebyshev filter on `device`, in f64, until residuals are below 10^-8 of the
/// largest eigenvalue of the block of 2 vectors + 8 columns. Memory beside the graph: 64 bytes a node and
/// column of the block, and 56 bytes an edge.
/// Throws Error for a graph without the reverse of an edge at its weight, for negative weights, for more than
/// kMostLaplacianVectors or kMostEncodingBytes, and where 50,000 products do not suffice: eigenvalues are
/// then too near each other.
/// Deterministic: the same seed, device and number of threads give the same bits.
Tensor laplacian_encoding(const Graph& graph, std::int64_t vectors, std::uint64_t seed = 0,
                          Device device = kCpu);

/// The graphs of a set, each with its own node numbers, to encode each alone; one, `graph`, where graph_ptr
/// is undefined or has no graphs. The graph is on the host, and so are they.
std::vector<Graph> graphs_of(const Graph& graph, const Tensor& graph_ptr);

}  // namespace rodeo
