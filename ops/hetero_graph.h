/// Heterogeneous graphs: nodes of several types, edges of several relations, as a few sparse matrices.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/adjacency.h"
#include "core/node_partition.h"
#include "ops/grouped_linear_types.h"
#include "ops/hetero_types.h"

namespace rodeo {

struct HeteroState;

/// A cheap shared handle on a heterogeneous graph. Nodes are sorted by type: node i of type t is column
/// first_node(t) + i, and row first_row(t) + i - type(t).first_target where it is a destination. Its matrices
/// are built at first use and kept; their plans, transposes and tuner choices are cached on them, as of any
/// Adjacency.
///
/// The *stack* has the nodes of each type, each of them once for each relation that begins there: these are
/// next to one another. The *(target, relation) rows* have the destinations of each type, each of them once
/// for each relation that ends there. A relation without edges has rows in neither.
/// Edges are numbered relation after relation in the order of their lists: edge k of relation r is
/// first_edge(r) + k.
///
/// Deterministic. Throws Error for repeated or unknown names, ids out of range (naming the relation, the
/// position and the id), and more than 2^31 - 1 nodes, rows of the stack or (target, relation) rows.
class HeteroGraph {
 public:
  HeteroGraph() = default;  // undefined
  HeteroGraph(std::vector<NodeType> types, std::vector<EdgeType> relations, Device device = kCpu);

  /// A block of a mini-batch: ids are in range and are not checked, which would wait for the device, and
  /// nothing is measured of its matrices, which are used once. Names and sizes are checked as above.
  static HeteroGraph trusted(std::vector<NodeType> types, std::vector<EdgeType> relations,
                             Device device = kCpu);

  bool defined() const { return state_ != nullptr; }
  Device device() const;
  bool operator==(const HeteroGraph& other) const { return state_ == other.state_; }
  /// A copy on another device, without the matrices built so far; the same graph if it is there already.
  HeteroGraph to(Device device) const;

  int num_types() const;
  const NodeType& type(int t) const;
  /// Throws Error that lists the types.
  int find_type(std::string_view name) const;
  int num_relations() const;
  const EdgeType& relation(int r) const;
  /// By "name" where only one relation has it, or by "src:name:dst". Throws Error that lists the relations.
  int find_relation(std::string_view name) const;
  int src_type(int r) const;
  int dst_type(int r) const;

  std::int64_t num_nodes() const;  // of all types
  std::int64_t num_nodes(int t) const;
  std::int64_t first_node(int t) const;  // t = num_types(): num_nodes()
  std::int64_t num_rows() const;         // destinations of all types
  std::int64_t num_rows(int t) const;
  std::int64_t first_row(int t) const;  // t = num_types(): num_rows()
  std::int64_t num_edges() const;       // of all relations
  std::int64_t num_edges(int r) const;
  std::int64_t first_edge(int r) const;  // r = num_relations(): num_edges()
  std::int64_t num_sources() const;      // rows of the stack
  std::int64_t num_targets() const;      // (target, relation) rows
  NodeNumbers sources(int r) const;      // where the sources of a relation with edges are in the stack
  NodeNumbers targets(int r) const;      // and its targets among the (target, relation) rows
  /// Whether trusted() made it.
  bool is_block() const;
  /// The rank's shard of this graph: its destinations are the rank's nodes, and all nodes are sources. Layers
  /// read gather_nodes() (ops/hetero_shard.h).   nodes: a partition of each type over the same ranks, equal
  /// on all. Exchanges nothing. Throws Error for a block or a shard, and for other numbers of nodes.
  HeteroGraph shard(std::vector<std::shared_ptr<const NodePartition>> nodes) const;
  bool is_sharded() const;
  /// Which rank has which nodes of type t. Throws Error unless is_sharded().
  const NodePartition& partition(int t) const;
  /// Whether every node is a destination.
  bool is_whole() const { return num_rows() == num_nodes(); }

  /// Transform first: [destinations, stack]. With X the stacked X_src W_r, its product sums over relations.
  const Adjacency& stacked() const;
  /// Aggregate first: [(target, relation), nodes]. Its products keep relations apart.
  const Adjacency& by_target() const;
  /// [(target, relation), stack]: for a softmax in each relation over transformed rows.
  const Adjacency& relation_blocks() const;
  /// [destinations, (target, relation)]: sums the rows of the relations of each destination.
  const Adjacency& sum_relations() const;
  /// For each edge of the matrix, in its order, the number of the edge. i64 [edges]. Made at
  /// first use, like a matrix, and kept.
  const Tensor& stacked_edge_ids() const;
  const Tensor& by_target_edge_ids() const;
  /// relation_blocks() without the rows of the stack that no edge reads, which a sampled block has many of.
  /// The host waits for the device at first use; kept.
  const ReadSources& read_sources() const;
  /// Relations in the order of the rows of the stack, and of (target, relation) rows, where the rows of a
  /// node or target are one for each: a matrix of ones [those with edges, relations] whose product sorts
  /// parameters; undefined where the order is that of all relations.
  const Adjacency& source_order() const;
  const Adjacency& target_order() const;

  /// 1 / (number of edges of e's destination in e's relation) for each edge e of `adj`, which is stacked() or
  /// by_target(): with these weights its products are means by relation.   floating dtype
  const EdgeMeans& edge_means(const Adjacency& adj, DType dtype) const;

  /// A segment a type, for the weights of source_order() or target_order(): rows of the nodes to those of the
  /// stack, and destinations among the nodes to (target, relation) rows, as fan_out_linear takes them;
  /// (target, relation) rows to destinations, as grouped_linear does.
  std::vector<RowSegment> nodes_to_stack() const;
  std::vector<RowSegment> nodes_to_targets() const;
  std::vector<RowSegment> targets_to_rows() const;
  /// Destinations among the nodes to rows, a segment a type.
  std::vector<RowSegment> rows_by_type() const;

  /// This graph and the reverse of each relation: dst -> src, named "rev_" + name, behind the others. Throws
  /// Error for a block of a mini-batch.
  HeteroGraph add_reverse() const;
  /// This graph where only nodes of type t are destinations: the relations to other types have no edges.
  /// Kept with the graph.
  HeteroGraph with_targets_of(int t) const;

 private:
  explicit HeteroGraph(std::shared_ptr<HeteroState> state) : state_(std::move(state)) {}
  HeteroGraph(std::vector<NodeType> types, std::vector<EdgeType> relations, Device device, bool trusts_ids);
  /// A graph of ids in range, used as this one is, with its partitions.
  HeteroGraph derive(std::vector<NodeType> types, std::vector<EdgeType> relations, Device device) const;
  HeteroState& state() const;
  std::shared_ptr<HeteroState> state_;
};

}  // namespace rodeo
