/// The order in which kernels run the rows of a graph: clusters of rows with common neighbours.
#pragma once

#include "core/adjacency.h"
#include "ops/plan/row_locality.h"

namespace rodeo {

/// How many columns consecutive rows have in common. Cached on adj; the first call waits for the device, or
/// during CUDA graph capture returns an empty value, which is not cached.
RowLocality row_locality(const Adjacency& adj);
/// Says that consecutive rows of adj, and of its transpose, have few columns in common: nothing is measured,
/// and so nothing waits for the device. For graphs that are used once.
void assume_no_locality(const Adjacency& adj);

/// The cluster of each row of a square matrix: u8 [rows]. Throws Error where it is not square.
Tensor cluster_rows(const Adjacency& adj);
/// In which order the rows of a graph run.
struct RowOrder {
  Tensor cluster{};         // u8 [rows]: cluster by cluster; undefined: longest rows first
  bool keeps_file = false;  // a graph that is large enough for clusters, whose order of the file is local
  Tensor column_cluster{};  // u8 [cols]: the clusters of the transpose, of a rank's rows; else undefined
};
/// cluster_rows(adj) where RowClusters::should_use or has_long_rows, and RowClusters::improves, and the order
/// of the file is not local. For a rank's rows and their transpose it is what order_shard() found. Cached on
/// adj.
const RowOrder& row_order(const Adjacency& adj);
const Tensor& row_clusters(const Adjacency& adj);

/// Finds the RowOrder of a rank's rows, on the edges of all ranks, with the clusters of one rank. A
/// collective call, before any product of the graph.
void order_shard(const ShardedRows& shard);
/// Gives the transpose of a rank's rows its RowOrder, and passes assume_no_locality() on. Nothing for other
/// graphs.
void order_transpose(const Adjacency& rows, const Adjacency& transposed);

}  // namespace rodeo
