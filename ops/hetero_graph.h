/// Heterogeneous graphs: nodes of several types, edges of several relations, as a few sparse matrices.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/adjacency.h"
#include "ops/grouped_linear_types.h"

namespace rodeo {

struct NodeType {
  std::string name;
  std::int64_t count = 0;
  /// The first nodes of the type that are destinations: those of a block of a mini-batch. -1: all.
  std::int64_t targets = -1;
};

/// One relation: edges from nodes of type `src` to nodes of type `dst`. An edge is a message src -> dst.
struct EdgeType {
  std::string src, name, dst;
  Tensor src_ids, dst_ids;  // i32 or i64 [edges], ids within their type, on any device
  std::string full_name() const { return src + ":" + name + ":" + dst; }
};

/// A cheap shared handle on a heterogeneous graph. Nodes are sorted by type: node i of type t is column
/// first_node(t) + i, and row first_row(t) + i where it is a destination. Its matrices are built at first use
/// and kept; their plans, transposes and tuner choices are cached on them, as of any Adjacency.
///
/// For each relation r the *stack* has the nodes of its source type, from first_source(r) on, and the
/// *(relation, target) rows* have the destinations of its target type, from first_target(r) on. A relation
/// without edges has rows in neither.
/// Edges are numbered relation after relation in the order of their lists: edge k of relation r is
/// first_edge(r) + k.
///
/// Deterministic. Throws Error for repeated or unknown names, ids out of range (naming the relation, the
/// position and the id), and more than 2^31 - 1 nodes, rows of the stack or (relation, target) rows.
class HeteroGraph {
 public:
  HeteroGraph() = default;  // undefined
  HeteroGraph(std::vector<NodeType> types, std::vector<EdgeType> relations, Device device = kCpu);

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
  std::int64_t first_edge(int r) const;    // r = num_relations(): num_edges()
  std::int64_t first_source(int r) const;  // in the stack; r = num_relations(): its rows
  std::int64_t first_target(int r) const;  // r = num_relations(): number of (relation, target)
  /// Whether every node is a destination.
  bool is_whole() const { return num_rows() == num_nodes(); }

  /// Transform first: [destinations, stack]. With X the stacked X_src W_r, its product sums over relations.
  const Adjacency& stacked() const;
  /// Aggregate first: [(relation, target), nodes]. Its products keep relations apart.
  const Adjacency& by_relation() const;
  /// [(relation, target), stack]: for a softmax in each relation over transformed rows.
  const Adjacency& relation_blocks() const;
  /// [destinations, (relation, target)]: sums the rows of the relations of each destination.
  const Adjacency& sum_relations() const;
  /// For each edge of the matrix, in its order, the number of the edge. i64 [edges]
  const Tensor& stacked_edge_ids() const;
  const Tensor& by_relation_edge_ids() const;

  /// 1 / (number of edges of e's destination in e's relation) for each edge e of stacked(), in its order:
  /// with these weights its product is the sum over relations of means.   [edges], floating dtype
  const Tensor& stacked_mean_weight(DType dtype) const;

  /// Rows of the nodes to rows of the stack, a segment a relation; (relation, target) rows to destinations;
  /// destinations among the nodes to (relation, target) rows. As grouped_linear takes them.
  std::vector<RowSegment> nodes_to_stack() const;
  std::vector<RowSegment> relations_to_rows() const;
  std::vector<RowSegment> targets_to_relations() const;
  /// Destinations among the nodes to rows, a segment a type.
  std::vector<RowSegment> rows_by_type() const;

  /// This graph and the reverse of each relation: dst -> src, named "rev_" + name, behind the others. Throws
  /// Error for a block of a mini-batch.
  HeteroGraph add_reverse() const;
  /// This graph where only nodes of type t are destinations: the relations to other types have no edges.
  /// Kept with the graph.
  const HeteroGraph& with_targets_of(int t) const;

 private:
  struct State;
  const State& state() const;
  std::shared_ptr<State> state_;
};

}  // namespace rodeo
