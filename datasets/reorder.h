/// Node orders: permutations i64 [nodes] whose entry i is the old id of the new node i. select_nodes(dataset,
/// order) applies one. All depend on the graph (and seed) only, not on the number of threads. rcm_order and
/// rabbit_order throw Error for a matrix that is not square.
#pragma once

#include <cstdint>

#include "core/enum_names.h"
#include "datasets/dataset.h"

namespace rodeo {

enum class NodeOrder { kNone, kDegree, kRcm, kRabbit };
template <>
inline constexpr auto kEnumNames<NodeOrder> = enum_names<NodeOrder>({{NodeOrder::kNone, "none"},
                                                                     {NodeOrder::kDegree, "degree"},
                                                                     {NodeOrder::kRcm, "rcm"},
                                                                     {NodeOrder::kRabbit, "rabbit"}});

/// The order of the nodes of a dataset; undefined for kNone. kDegree counts the edges of a row, including
/// those that `undirected` adds. The other orders use the symmetrised graph without self loops and edge
/// weights.   sort_on: the device that sorts the edges; the order is the same on each
Tensor node_order(const Dataset& dataset, NodeOrder by, bool undirected = false, Device sort_on = kCpu);

/// By row length, longest first; stable.
Tensor degree_order(const Adjacency& adj);

/// Reverse Cuthill-McKee (1969; George 1971): breadth-first search from a peripheral node of each component,
/// neighbours in ascending order of degree, then reversed. Components are ordered by their smallest node.
/// `adj` must have a symmetric pattern.
Tensor rcm_order(const Adjacency& adj);

/// Rabbit Order (Arai et al., IPDPS 2016): hierarchical communities, contiguous on every level. In ascending
/// order of degree, each node is merged with all nodes merged into it into the neighbouring community with
/// the largest gain in modularity; ties go to the smallest id, and a node without a gain stays a root. The
/// order is a depth-first traversal of the merge trees, roots of large degree first. `adj` must have a
/// symmetric pattern; duplicate edges count. About linear in the edges; single-threaded.
Tensor rabbit_order(const Adjacency& adj);

/// A random permutation, a function of nodes and seed.
Tensor random_order(std::int64_t nodes, std::uint64_t seed);

/// The inverse permutation: i64 [nodes], entry order[i] is i. Throws Error if order is no permutation.
Tensor inverse_order(const Tensor& order);

/// The fraction of edges whose endpoints are at most `window` ids apart: a measure of locality. 0 without
/// edges.
double near_edges(const Dataset& dataset, std::int64_t window);

}  // namespace rodeo
