/// Orders of the nodes of a graph: permutations, i64 [nodes], of which entry i is the node that comes i-th.
/// select_nodes(dataset, order) applies one. All are functions of the graph (and seed) alone, whatever the
/// number of threads. rcm_order and rabbit_order throw Error for a matrix that is not square.
#pragma once

#include <cstdint>
#include <string_view>

#include "datasets/dataset.h"

namespace rodeo {

enum class NodeOrder { kNone, kDegree, kRcm, kRabbit };
std::string_view name(NodeOrder order);  // "rcm"
/// "none", "degree", "rcm" or "rabbit"; throws Error beginning with `option` for anything else.
NodeOrder parse_node_order(std::string_view text, std::string_view option = "--reorder");

/// The order of a dataset's nodes; undefined for kNone. kDegree counts the edges that a row of the graph has,
/// those that `undirected` adds among them; the others take every edge for one in both directions, and are
/// blind to self loops and weights.
Tensor node_order(const Dataset& dataset, NodeOrder by, bool undirected = false);

/// By row length, longest first; equal ones as they are.
Tensor degree_order(const Adjacency& adj);

/// Reverse Cuthill-McKee (1969; George 1971): breadth first from a node far out in each component, neighbours
/// by ascending degree, reversed; components by their smallest node. Rows are taken for neighbours: give it a
/// symmetric pattern.
Tensor rcm_order(const Adjacency& adj);

/// Rabbit Order (Arai et al., IPDPS 2016): communities are contiguous, and so are the smaller ones within
/// them. In ascending order of degree each node, with all that joined it, joins the neighbouring community
/// that gains the most modularity, the smallest of equal ones, unless none gains; the order is depth first in
/// the trees of who joined whom, those of the largest degrees first. Rows are taken for neighbours,
/// duplicates count: give it a symmetric pattern. About linear in the edges; one thread.
Tensor rabbit_order(const Adjacency& adj);

/// Any order alike, a function of nodes and seed.
Tensor random_order(std::int64_t nodes, std::uint64_t seed);

/// The order that takes this one back: i64 [nodes], entry order[i] is i.
Tensor inverse_order(const Tensor& order);

/// The share of a dataset's edges whose ends are at most `window` places apart: what an order is for. 0 where
/// there are no edges.
double near_edges(const Dataset& dataset, std::int64_t window);

}  // namespace rodeo
