/// One graph with features, labels and a split, as it is stored; datasets/README.md has the file format.
#pragma once

#include <cstdint>
#include <string>

#include "core/adjacency.h"
#include "core/tensor.h"
#include "datasets/split.h"
#include "ops/convert.h"

namespace rodeo {

/// All tensors are on the host. What a file lacks is undefined.
struct Dataset {
  std::string name;
  std::int64_t num_nodes = 0, num_features = 0, num_classes = 0;

  // The edges: a list, or CSR. One of the two is defined. Loaded ids are i32; i64 will do too.
  Tensor src, dst;         // [edges]  messages go from src to dst
  Tensor indptr, indices;  // i64 [nodes + 1], [edges]  row i lists the nodes that send messages to node i
  Tensor edge_weight;      // f32 [edges], in the order of the edges above

  Tensor x;  // f32 [nodes, features]
  Tensor y;  // i64 [nodes]  in [0, num_classes); negative: no label
  Split split;

  std::int64_t num_edges() const { return (indptr.defined() ? indices : src).numel(); }
};

enum class Need {
  kGraph,     // edges; everything else where it is there
  kTraining,  // also features, labels, and at least one node to train, to validate and to test on
};

struct LoadOptions {
  Need need = Need::kGraph;
  bool features = true;  // false: leave x in the file
  std::string split{};   // empty: the file's masks; else, in their place, random_split() by these percentages
  std::uint64_t seed = 0;  // of that random split
};

/// Reads and checks a file. Throws rodeo::Error of one line naming file, object, position and rule: where an
/// array that is needed is missing, has the wrong type or shape, or contradicts the others; for ids outside
/// [0, nodes), labels of classes that are not there, features or weights that are NaN or infinite, and nodes
/// in two parts of the split.
Dataset load_dataset(const std::string& path, const LoadOptions& options = {});

/// Writes what is defined; arrays below 32 MiB are compressed. The file appears complete or not at all.
void save_dataset(const Dataset& dataset, const std::string& path);

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
