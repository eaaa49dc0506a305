/// What a HeteroGraph keeps, and how its matrices are built.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "core/adjacency.h"
#include "core/node_partition.h"
#include "ops/convert.h"
#include "ops/hetero_types.h"
#include "ops/kernels/graph.h"

namespace rodeo {

/// Begins of consecutive ranges, the end of the last one behind them.
class Ranges {
 public:
  void add(std::int64_t size) { begins_.push_back(begins_.back() + size); }
  std::int64_t begin(int i) const { return begins_.at(static_cast<std::size_t>(i)); }
  std::int64_t size(int i) const { return begin(i + 1) - begin(i); }
  std::int64_t total() const { return begins_.back(); }
  int count() const { return static_cast<int>(begins_.size()) - 1; }

 private:
  std::vector<std::int64_t> begins_{0};
};

/// One side of the edges. Nodes are numbered by type; or each has a number for each relation that it may have
/// edges of, next to one another.
struct HeteroSide {
  Ranges nodes;                               // of each type
  std::vector<int> type;                      // of each relation
  std::vector<std::int64_t> first;            // id of the first of these nodes, of each type
  std::vector<std::vector<int>> relations{};  // with edges, of each type
  std::int64_t total = 0;                     // of the numbers by relation
  std::vector<NodeNumbers> numbers{};         // of each relation with edges, else zeros
  Adjacency order{};                          // made at first use, under the lock

  /// Sets `relations`, `numbers` and `total`.
  void number(const Ranges& edges);
};

struct HeteroState {
  std::vector<NodeType> types;
  std::vector<EdgeType> relations;
  Device device;
  HeteroSide src, dst;
  Ranges edges;
  bool used_once = false;  // a block of a mini-batch: nothing is measured of its matrices
  std::vector<std::shared_ptr<const NodePartition>> shards;  // of each type; empty: not sharded

  std::mutex mutex;  // of what follows, made at first use
  // By whether rows and columns are numbered by relation. Ids are 8 bytes an edge: made where asked for.
  std::map<std::pair<bool, bool>, Adjacency> matrices;
  std::map<std::pair<bool, bool>, Tensor> ids;
  Adjacency sum_relations;
  ReadSources read;
  std::map<std::pair<bool, DType>, EdgeMeans> means;  // by whether rows are
  std::vector<std::shared_ptr<HeteroState>> with_targets;

  // These need the lock.
  bool has_matrix(bool rows_by_relation, bool cols_by_relation) const {
    return matrices.contains({rows_by_relation, cols_by_relation});
  }
  const Adjacency& matrix(bool rows_by_relation, bool cols_by_relation);
  const Tensor& edge_ids(bool rows_by_relation, bool cols_by_relation);
  const Adjacency& order(HeteroSide& side) const;
  const Adjacency& sums();
  const ReadSources& read_sources();
  const EdgeMeans& means_of(bool rows_by_relation, DType dtype);

 private:
  kernels::SortedEdges sort_edges(bool rows_by_relation, bool cols_by_relation, bool edge_ids) const;
  Adjacency make_matrix(Csr csr) const;
  /// For all edges the number of their row or column: i32 [edges].
  Tensor ends(const HeteroSide& side, bool by_relation) const;
};

}  // namespace rodeo
