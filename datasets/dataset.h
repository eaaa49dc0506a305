/// One graph with features, labels and a split, as stored in a file. datasets/README.md describes the format.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/adjacency.h"
#include "core/tensor.h"
#include "datasets/split.h"
#include "ops/convert.h"
#include "ops/features.h"

namespace rodeo {

/// Sparse node features as CSR: row i has data[e] in column indices[e] for e in [indptr[i], indptr[i + 1]).
/// Columns are in any order; duplicate entries are summed.
struct SparseFeatures {
  Tensor indptr;   // i64 [nodes + 1]
  Tensor indices;  // i32 [entries]  in [0, features)
  Tensor data;     // f32 [entries]

  bool defined() const { return indptr.defined(); }
  std::int64_t num_entries() const { return indices.numel(); }
};

/// All tensors are on the host, except that edges (src and dst, or indptr and indices), edge weights and
/// features are on LoadOptions::device.
/// Tensors that a file does not have are undefined.
struct Dataset {
  static constexpr std::uint8_t kMissingLabel = 255;

  std::string name;
  std::int64_t num_nodes = 0, num_features = 0, num_classes = 0;

  // Edges: an edge list or CSR; exactly one is defined. Loading makes i32 ids; i64 ids are accepted too.
  Tensor src, dst;         // [edges]  messages go from src to dst
  Tensor indptr, indices;  // i64 [nodes + 1], [edges]  row i: the sources of the messages to node i
  Tensor edge_weight;      // f32 [edges], in the order of the edges above
  Tensor edge_attr;        // f32 [edges, edge features], in the same order; on the host

  // Features: at most one is defined. dense_features() converts to the first.
  Tensor x;  // f32 [nodes, features]
  SparseFeatures x_sparse;

  // Single-label: i64 [nodes], in [0, num_classes), negative for unlabelled nodes. Multi-label:
  // u8 [nodes, classes] of 0 and 1, kMissingLabel where it is not known. Regression: f32 [nodes, targets],
  // NaN for a missing one; num_classes is the number of targets, class_names are theirs.
  Tensor y;
  // A set of graphs, block-diagonal: graph g has the nodes graph_ptr[g] .. graph_ptr[g + 1] - 1, and no edge
  // leaves it.
  Tensor graph_ptr;    // i64 [graphs + 1]
  Tensor graph_label;  // i64 [graphs], in [0, num_classes); or u8 or f32, as y with several labels or numbers
  Split graph_split;   // of graphs; undefined tensors without one

  Split split;
  std::vector<Split> splits;             // all splits of the file with LoadOptions::all_splits; else empty
  Tensor node_id;                        // i64 [nodes]: original node ids, before reorder and subset
  std::vector<std::string> class_names;  // one for each class, without line breaks; empty: none
  std::vector<std::string> node_names;   // one for each node, as above; load_dataset reads them without
                                         // Need::kTraining only

  std::int64_t num_edges() const { return (indptr.defined() ? indices : src).numel(); }
  bool has_features() const { return x.defined() || x_sparse.defined(); }
  std::int64_t num_graphs() const { return graph_ptr.defined() ? graph_ptr.numel() - 1 : 0; }
  /// The labels of nodes or graphs.
  const Tensor& labels() const { return y.defined() ? y : graph_label; }
  bool multi_label() const { return labels().defined() && labels().dtype() == DType::kU8; }
  bool regression() const { return labels().defined() && labels().dtype() == DType::kF32; }
};

enum class Need {
  kGraph,     // requires edges; everything else is optional
  kTraining,  // also requires features, labels and a split without an empty part
};

struct LoadOptions {
  Need need = Need::kGraph;
  bool features = true;  // false: do not read them
  bool edges = true;     // false: do not read them, nor their weights and features
  /// Empty: the masks of the file, its first split. "2": split 2 of the file, counted from 0. "60/20/20"
  /// or "0.6/0.2/0.2": random_split() by these fractions instead of the masks.
  std::string split{};
  std::uint64_t seed = 0;   // of the random split
  bool all_splits = false;  // also fill Dataset::splits
  Device device{};          // edges, edge weights and features are streamed to it
};

/// Reads and validates a file. Throws a one-line rodeo::Error with file, object, position and rule
///   if a required array is missing, has the wrong dtype or shape, or contradicts another one;
///   for ids outside [0, nodes), labels outside [0, num_classes), NaN or infinite features and edge weights,
///   and nodes in two parts of the split;
///   for a schema version newer than this reader.
Dataset load_dataset(const std::string& path, const LoadOptions& options = {});

/// All errors that load_dataset() without Need::kTraining can throw, one line each; for an array with several
/// bad elements, the first. Empty: the file is valid.
///   warnings: receives what is valid and seldom meant: edges in two parts of a split
std::vector<std::string> validate_dataset(const std::string& path,
                                          std::vector<std::string>* warnings = nullptr);

/// Writes all defined tensors. Arrays below 32 MiB are compressed. The file is created atomically.
void save_dataset(const Dataset& dataset, const std::string& path);

/// x, or x_sparse as a dense matrix: f32 [nodes, features], on the same device. Undefined without features.
Tensor dense_features(const Dataset& dataset);

/// x_sparse, or the nonzeros of x, as the sparse input of a first layer: f32 [nodes, features] on `device`.
///   model.forward(graph, normalize_rows(sparse_features(data, device)))
/// Without a file, make them from CSR or COO by sparse_features() in ops/features.h. Throws Error without
/// features, and for an x_sparse that is no CSR of [nodes, features].
Features sparse_features(const Dataset& dataset, Device device = kCpu);

/// x, or x_sparse as a dense matrix, of the nodes of a set of graphs; where the dataset has no features, a
/// column of ones. f32 [nodes, features], on the host.
Tensor graph_set_features(const Dataset& dataset);

/// The graph on a device. Rows are destinations and columns are sources, so spmm(adj, weight, x) is message
/// passing with sum aggregation.
struct Graph {
  Adjacency adj;  // rows sorted by column
  Tensor weight;  // f32 [edges], in the edge order of adj; undefined without edge weights
  Tensor attr;    // f32 [edges, edge features], in the same order; undefined without them
};

/// Moves the edges to `device`, checks and sorts them there. A CSR whose rows are sorted is not sorted again:
/// if the options change no edge, the graph shares the memory of the dataset's tensors on `device`. An added
/// reverse edge copies the weight of its original; an added self loop has weight 1. Of duplicate edges that
/// are dropped, the first weight is kept. Edge features are treated alike; those of an added self loop are 0.
/// A CSR gives the same arrays as the edge list of its edges.
Graph to_graph(const Dataset& dataset, Device device, const CooOptions& options = {});

}  // namespace rodeo
