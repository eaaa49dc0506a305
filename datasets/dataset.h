/// One graph with features, labels and a split, as it is stored; datasets/README.md has the file format.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/adjacency.h"
#include "core/tensor.h"
#include "datasets/split.h"
#include "ops/convert.h"

namespace rodeo {

/// Node features that are mostly zero, as CSR: row i has data[e] in column indices[e] for e in
/// [indptr[i], indptr[i + 1]). Columns may come in any order; entries of the same place add up.
struct SparseFeatures {
  Tensor indptr;   // i64 [nodes + 1]
  Tensor indices;  // i32 [entries]  in [0, features)
  Tensor data;     // f32 [entries]

  bool defined() const { return indptr.defined(); }
  std::int64_t num_entries() const { return indices.numel(); }
};

/// Tensors are on the host, but for edges, weights and features where LoadOptions::device says otherwise.
/// What a file lacks is undefined.
struct Dataset {
  std::string name;
  std::int64_t num_nodes = 0, num_features = 0, num_classes = 0;

  // The edges: a list, or CSR. One of the two is defined. Loaded ids are i32; i64 will do too.
  Tensor src, dst;         // [edges]  messages go from src to dst
  Tensor indptr, indices;  // i64 [nodes + 1], [edges]  row i lists the nodes that send messages to node i
  Tensor edge_weight;      // f32 [edges], in the order of the edges above

  // The features: one of the two is defined where there are any. dense_features() is for who needs the first.
  Tensor x;  // f32 [nodes, features]
  SparseFeatures x_sparse;

  // One label a node, i64 [nodes], in [0, num_classes) or negative: no label. Or several: u8 [nodes, classes]
  // of 0 and 1.
  Tensor y;
  Split split;
  std::vector<Split> splits;  // all of the file, by LoadOptions::all_splits; else empty
  Tensor node_id;             // i64 [nodes]: what the nodes were called before reorder and subset

  std::int64_t num_edges() const { return (indptr.defined() ? indices : src).numel(); }
  bool has_features() const { return x.defined() || x_sparse.defined(); }
  bool multi_label() const { return y.defined() && y.rank() == 2; }
};

enum class Need {
  kGraph,     // edges; everything else where it is there
  kTraining,  // also features, labels, and at least one node to train, to validate and to test on
};

struct LoadOptions {
  Need need = Need::kGraph;
  bool features = true;  // false: leave them in the file
  /// Empty: the file's masks, the first of several. "2": its split of that number, from 0. "60/20/20": in
  /// their place, random_split() by these percentages.
  std::string split{};
  std::uint64_t seed = 0;   // of that random split
  bool all_splits = false;  // also fill Dataset::splits
  Device device{};          // where edges, weights and features go, without a copy of them on the host
};

/// Reads and checks a file. Throws rodeo::Error of one line naming file, object, position and rule: where an
/// array that is needed is missing, has the wrong type or shape, or contradicts the others; for ids outside
/// [0, nodes), labels of classes that are not there, features or weights that are NaN or infinite, and nodes
/// in two parts of the split; for a schema newer than this reader.
Dataset load_dataset(const std::string& path, const LoadOptions& options = {});

/// All that load_dataset() would refuse for any use but training, one line each; for an object that breaks a
/// rule in several places, the first. Empty: the file keeps the schema.
std::vector<std::string> validate_dataset(const std::string& path);

/// Writes what is defined; arrays below 32 MiB are compressed. The file appears complete or not at all.
void save_dataset(const Dataset& dataset, const std::string& path);

/// x, or x_sparse written out: f32 [nodes, features], on the device of whichever is defined.
Tensor dense_features(const Dataset& dataset);

/// The graph on a device: rows are destinations, columns are sources, so that spmm(adj, weight, x) sums
/// messages.
struct Graph {
  Adjacency adj;  // rows sorted by column
  Tensor weight;  // f32 [edges], in adj's order; undefined where the dataset has no weights
};

/// Moves the edges to `device` and sorts them there. An added reverse edge has the weight of its original, an
/// added self loop has weight 1; of equal edges that are dropped, the first one's weight stays.
Graph to_graph(const Dataset& dataset, Device device, const CooOptions& options = {});

}  // namespace rodeo
