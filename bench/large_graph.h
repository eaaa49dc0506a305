/// Graphs too large for a file or for the host's memory: drawn on the device that trains them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/adjacency.h"

namespace rodeo::bench {

/// The sizes of ogbn-papers100M: its nodes, its edges in both directions, and the nodes with a label.
struct LargeGraph {
  std::string name;
  std::int64_t nodes = 111'059'956, edges = 3'231'371'744;
  std::int64_t features = 128, classes = 172;
  std::int64_t train = 1'207'179, val = 125'265, test = 214'338;
};

/// "papers100M", and "papers100M/N" for an N-th of it; none for other names.
std::optional<LargeGraph> large_graph(std::string_view name);

/// A symmetric graph without self loops. Half of the edges are drawn: one from each node in turn, the others
/// between nodes of which the one of rank r is drawn with weight r^-0.5. Those that are drawn again are left
/// out. Neighbours are anywhere in the order of nodes. Deterministic; the same graph on every device.
Adjacency draw_graph(const LargeGraph& graph, Device device);

/// Rows [first, first + count) of draw_graph(), or with `self_loops` of A + I: [count, nodes]. Every rank
/// draws all edges, and keeps those of its rows. Deterministic.
Adjacency draw_rows(const LargeGraph& graph, std::int64_t first, std::int64_t count, bool self_loops,
                    Device device);

/// Uniform in [-1, 1): of the nodes from `first` on, [count, features], f32 or bf16. Deterministic.
Tensor draw_features(const LargeGraph& graph, std::int64_t first, std::int64_t count, DType dtype,
                     Device device);
/// Features of all nodes.
Tensor draw_features(const LargeGraph& graph, DType dtype, Device device);

/// i64 [count]: different nodes of every part of the graph, `first` before them left out. On the host.
Tensor labelled_nodes(const LargeGraph& graph, std::int64_t first, std::int64_t count);

/// Throws Error unless some rows of A X in `x`'s dtype are near their sums in f64 on the host.
void verify_sums(const Adjacency& adj, const Tensor& x);

/// The edges of some rows, of which each pair that is drawn gives up to two.
struct RowDraw {
  std::int64_t nodes = 0, pairs = 0, first = 0, count = 0;
  bool self_loops = false;
};

namespace cuda {  // the kernels, with the results of the host's loops; CUDA builds only
void draw_pairs(std::int64_t nodes, const Tensor& low, const Tensor& high);
void draw_values(std::int64_t first, const Tensor& x);
std::int64_t draw_edges(const RowDraw& rows, std::int32_t* row, std::int32_t* col, Device device);
}  // namespace cuda

}  // namespace rodeo::bench
