#include "ops/hetero_graph.h"

#include <limits>

#include "core/text.h"
#include "ops/sparse/hetero_state.h"
#include "ops/validate.h"

namespace rodeo {
namespace {

void check_ids(const std::string& relation, std::string_view what, const Tensor& ids, std::int64_t limit) {
  check(ids.defined() && ids.rank() == 1 && (ids.dtype() == DType::kI32 || ids.dtype() == DType::kI64),
        "[hetero_graph] ", what, " of ", relation, " must be i32 or i64 [edges]");
  if (const std::int64_t bad = first_outside(ids, limit); bad >= 0)
    fail("[hetero_graph] ", what, "[", bad, "] of ", relation, " is ",
         static_cast<std::int64_t>(ids.slice(bad, bad + 1).item()), ", outside [0, ", limit, ")");
}

}  // namespace

HeteroGraph::HeteroGraph(std::vector<NodeType> types, std::vector<EdgeType> relations, Device device)
    : HeteroGraph(std::move(types), std::move(relations), device, false) {}

HeteroGraph HeteroGraph::trusted(std::vector<NodeType> types, std::vector<EdgeType> relations,
                                 Device device) {
  return {std::move(types), std::move(relations), device, true};
}

HeteroGraph::HeteroGraph(std::vector<NodeType> types, std::vector<EdgeType> relations, Device device,
                         bool trusts_ids)
    : state_(std::make_shared<HeteroState>()) {
  HeteroState& s = *state_;
  s.used_once = trusts_ids;
  s.types = std::move(types);
  s.relations = std::move(relations);
  s.device = device;
  s.with_targets.resize(s.types.size());
  check(!s.types.empty(), "[hetero_graph] a graph needs at least one node type");
  std::map<std::string, int> position;
  for (NodeType& type : s.types) {
    check(!type.name.empty(), "[hetero_graph] a node type needs a name");
    check(position.emplace(type.name, static_cast<int>(position.size())).second,
          "[hetero_graph] there are two node types named ", type.name);
    if (type.targets < 0) type.targets = type.count;
    check(type.count >= 0 && type.targets <= type.count, "[hetero_graph] ", type.name,
          " must have at least 0 nodes and at most as many targets, got ", type.count, " and ", type.targets);
    check(trusts_ids || type.first_target == 0, "[hetero_graph] first_target of ", type.name,
          " must be 0, got ", type.first_target, ": shard() makes graphs whose destinations begin elsewhere");
    s.src.nodes.add(type.count);
    s.dst.nodes.add(type.targets);
    s.src.first.push_back(0);
    s.dst.first.push_back(type.first_target);
  }
  std::map<std::string, int> names;
  for (const EdgeType& relation : s.relations) {
    const std::string name = relation.full_name();
    check(!relation.name.empty(), "[hetero_graph] relation ", name, " needs a name");
    check(names.emplace(name, 0).second, "[hetero_graph] there are two relations ", name);
    for (const std::string& end : {relation.src, relation.dst})
      check(position.contains(end), "[hetero_graph] relation ", name, " has an unknown node type ", end);
    const int src = position.at(relation.src), dst = position.at(relation.dst);
    if (!trusts_ids) check_ids(name, "src_ids", relation.src_ids, type(src).count);
    if (!trusts_ids) check_ids(name, "dst_ids", relation.dst_ids, type(dst).targets);
    check(relation.src_ids.numel() == relation.dst_ids.numel(), "[hetero_graph] ", name, " has ",
          relation.src_ids.numel(), " src_ids and ", relation.dst_ids.numel(), " dst_ids");
    s.src.type.push_back(src);
    s.dst.type.push_back(dst);
    s.edges.add(relation.src_ids.numel());
  }
  s.src.number(s.edges);
  s.dst.number(s.edges);
  for (const auto& [what, total] : {std::pair{"nodes", s.src.nodes.total()},
                                    {"sources of all relations", s.src.total},
                                    {"targets of all relations", s.dst.total}})
    check(total <= std::numeric_limits<std::int32_t>::max(), "[hetero_graph] there may be at most ",
          std::numeric_limits<std::int32_t>::max(), " ", what, ", got ", total);
}

HeteroGraph HeteroGraph::derive(std::vector<NodeType> types, std::vector<EdgeType> relations,
                                Device device) const {
  HeteroGraph out(std::move(types), std::move(relations), device, true);
  out.state_->used_once = state().used_once;
  out.state_->shards = state().shards;
  return out;
}

HeteroState& HeteroGraph::state() const {
  check(defined(), "[hetero_graph] the graph is undefined");
  return *state_;
}

Device HeteroGraph::device() const {
  return state().device;
}

HeteroGraph HeteroGraph::to(Device device) const {
  return device == this->device() ? *this : derive(state().types, state().relations, device);
}

int HeteroGraph::num_types() const {
  return static_cast<int>(state().types.size());
}
const NodeType& HeteroGraph::type(int t) const {
  return state().types.at(static_cast<std::size_t>(t));
}
int HeteroGraph::num_relations() const {
  return static_cast<int>(state().relations.size());
}
const EdgeType& HeteroGraph::relation(int r) const {
  return state().relations.at(static_cast<std::size_t>(r));
}
int HeteroGraph::src_type(int r) const {
  return state().src.type.at(static_cast<std::size_t>(r));
}
int HeteroGraph::dst_type(int r) const {
  return state().dst.type.at(static_cast<std::size_t>(r));
}

int HeteroGraph::find_type(std::string_view name) const {
  std::vector<std::string> names;
  for (const NodeType& type : state().types) {
    if (type.name == name) return static_cast<int>(names.size());
    names.push_back(type.name);
  }
  fail("[hetero_graph] there is no node type ", name, "; there are ", join(names));
}

int HeteroGraph::find_relation(std::string_view name) const {
  std::vector<std::string> names;
  int found = -1, matches = 0;
  for (int r = 0; r < num_relations(); ++r) {
    names.push_back(relation(r).full_name());
    if (names.back() == name) return r;
    if (relation(r).name == name) found = r, ++matches;
  }
  check(matches == 1, "[hetero_graph] there is ", matches == 0 ? "no relation " : "more than one relation ",
        name, "; there are ", join(names));
  return found;
}

std::int64_t HeteroGraph::num_nodes() const {
  return state().src.nodes.total();
}
std::int64_t HeteroGraph::num_nodes(int t) const {
  return state().src.nodes.size(t);
}
std::int64_t HeteroGraph::first_node(int t) const {
  return state().src.nodes.begin(t);
}
std::int64_t HeteroGraph::num_rows() const {
  return state().dst.nodes.total();
}
std::int64_t HeteroGraph::num_rows(int t) const {
  return state().dst.nodes.size(t);
}
std::int64_t HeteroGraph::first_row(int t) const {
  return state().dst.nodes.begin(t);
}
std::int64_t HeteroGraph::num_edges() const {
  return state().edges.total();
}
std::int64_t HeteroGraph::num_edges(int r) const {
  return state().edges.size(r);
}
std::int64_t HeteroGraph::first_edge(int r) const {
  return state().edges.begin(r);
}
std::int64_t HeteroGraph::num_sources() const {
  return state().src.total;
}
std::int64_t HeteroGraph::num_targets() const {
  return state().dst.total;
}
NodeNumbers HeteroGraph::sources(int r) const {
  return state().src.numbers.at(static_cast<std::size_t>(r));
}
NodeNumbers HeteroGraph::targets(int r) const {
  return state().dst.numbers.at(static_cast<std::size_t>(r));
}

namespace {

const Adjacency& matrix_of(HeteroState& state, bool rows_by_relation, bool cols_by_relation) {
  const std::scoped_lock lock(state.mutex);
  return state.matrix(rows_by_relation, cols_by_relation);
}
const Tensor& edge_ids_of(HeteroState& state, bool rows_by_relation, bool cols_by_relation) {
  const std::scoped_lock lock(state.mutex);
  return state.edge_ids(rows_by_relation, cols_by_relation);
}

/// A segment for each type of the side that has numbers by relation: its nodes from first(t) on, and these.
template <class First>
std::vector<RowSegment> segments_of(const HeteroSide& side, const First& first) {
  std::vector<RowSegment> segments;
  std::int64_t begin = 0;
  for (int t = 0; t < side.nodes.count(); ++t) {
    const std::int64_t fold = std::ssize(side.relations[static_cast<std::size_t>(t)]);
    if (fold == 0) continue;
    segments.push_back({first(t), begin, side.nodes.size(t), fold});
    begin += fold * side.nodes.size(t);
  }
  return segments;
}

}  // namespace

const Adjacency& HeteroGraph::stacked() const {
  return matrix_of(state(), false, true);
}
const Adjacency& HeteroGraph::by_target() const {
  return matrix_of(state(), true, false);
}
const Adjacency& HeteroGraph::relation_blocks() const {
  return matrix_of(state(), true, true);
}
const Tensor& HeteroGraph::stacked_edge_ids() const {
  return edge_ids_of(state(), false, true);
}
const Tensor& HeteroGraph::by_target_edge_ids() const {
  return edge_ids_of(state(), true, false);
}
const Adjacency& HeteroGraph::sum_relations() const {
  const std::scoped_lock lock(state().mutex);
  return state().sums();
}
const ReadSources& HeteroGraph::read_sources() const {
  const std::scoped_lock lock(state().mutex);
  return state().read_sources();
}
bool HeteroGraph::is_block() const {
  return state().used_once;
}
bool HeteroGraph::is_sharded() const {
  return !state().shards.empty();
}
const NodePartition& HeteroGraph::partition(int t) const {
  check(is_sharded(), "[hetero_graph] the graph is not a shard: see shard()");
  return *state().shards.at(static_cast<std::size_t>(t));
}
const Adjacency& HeteroGraph::source_order() const {
  const std::scoped_lock lock(state().mutex);
  return state().order(state().src);
}
const Adjacency& HeteroGraph::target_order() const {
  const std::scoped_lock lock(state().mutex);
  return state().order(state().dst);
}

const EdgeMeans& HeteroGraph::edge_means(const Adjacency& adj, DType dtype) const {
  check(is_float(dtype), "[hetero_graph] edge weights must be floating point, got ", dtype);
  const std::scoped_lock lock(state().mutex);
  const bool stacks = state().has_matrix(false, true) && adj == state().matrix(false, true);
  check(stacks || (state().has_matrix(true, false) && adj == state().matrix(true, false)),
        "[hetero_graph] edge means are those of stacked() or by_target()");
  return state().means_of(!stacks, dtype);
}

std::vector<RowSegment> HeteroGraph::nodes_to_stack() const {
  return segments_of(state().src, [this](int t) { return first_node(t); });
}

std::vector<RowSegment> HeteroGraph::nodes_to_targets() const {
  return segments_of(state().dst, [this](int t) { return first_node(t) + type(t).first_target; });
}

std::vector<RowSegment> HeteroGraph::targets_to_rows() const {
  std::vector<RowSegment> segments = segments_of(state().dst, [this](int t) { return first_row(t); });
  for (RowSegment& s : segments) std::swap(s.x_begin, s.y_begin);
  return segments;
}

std::vector<RowSegment> HeteroGraph::rows_by_type() const {
  std::vector<RowSegment> segments;
  for (int t = 0; t < num_types(); ++t)
    segments.push_back({first_node(t) + type(t).first_target, first_row(t), num_rows(t)});
  return segments;
}

HeteroGraph HeteroGraph::add_reverse() const {
  check(is_whole(), "[hetero_graph] reverse relations need a graph whose nodes are all destinations");
  std::vector<EdgeType> relations = state().relations;
  for (int r = 0; r < num_relations(); ++r) {
    const EdgeType& of = relation(r);
    relations.push_back({of.dst, "rev_" + of.name, of.src, of.dst_ids, of.src_ids});
  }
  return {state().types, std::move(relations), device()};
}

HeteroGraph HeteroGraph::with_targets_of(int t) const {
  check(t >= 0 && t < num_types(), "[hetero_graph] there is no node type ", t);
  const std::scoped_lock lock(state().mutex);
  std::shared_ptr<HeteroState>& kept = state().with_targets[static_cast<std::size_t>(t)];
  if (kept) return HeteroGraph(kept);
  std::vector<NodeType> types = state().types;
  std::vector<EdgeType> relations = state().relations;
  for (int i = 0; i < num_types(); ++i)
    if (i != t) types[static_cast<std::size_t>(i)].targets = 0;
  for (int r = 0; r < num_relations(); ++r)
    if (EdgeType& of = relations[static_cast<std::size_t>(r)]; dst_type(r) != t)
      of.src_ids = of.dst_ids = Tensor::empty({0}, DType::kI32);
  kept = derive(std::move(types), std::move(relations), device()).state_;
  return HeteroGraph(kept);
}

}  // namespace rodeo
