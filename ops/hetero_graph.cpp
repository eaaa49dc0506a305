#include "ops/hetero_graph.h"

#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "ops/convert.h"
#include "ops/validate.h"

namespace rodeo {
namespace {

/// Begins of consecutive ranges, the end of the last one behind them.
class Ranges {
 public:
  void add(std::int64_t size) { begins_.push_back(begins_.back() + size); }
  std::int64_t begin(int i) const { return begins_.at(static_cast<std::size_t>(i)); }
  std::int64_t size(int i) const { return begin(i + 1) - begin(i); }
  std::int64_t total() const { return begins_.back(); }

 private:
  std::vector<std::int64_t> begins_{0};
};

/// What a side of an edge is numbered by.
enum class Side { kNodes, kRelations };

/// The edges [first, first + ids.numel()) of `all` become ids + shift.
void append_ids(const Tensor& ids, std::int64_t shift, std::int64_t first, std::vector<std::int32_t>& all) {
  const auto append = [&]<class T>(const std::vector<T>& values) {
    for (std::size_t k = 0; k < values.size(); ++k)
      all[static_cast<std::size_t>(first) + k] =
          static_cast<std::int32_t>(static_cast<std::int64_t>(values[k]) + shift);
  };
  if (ids.dtype() == DType::kI32)
    append(ids.to_vector<std::int32_t>());
  else
    append(ids.to_vector<std::int64_t>());
}

void check_ids(const std::string& relation, std::string_view what, const Tensor& ids, std::int64_t limit) {
  check(ids.defined() && ids.rank() == 1 && (ids.dtype() == DType::kI32 || ids.dtype() == DType::kI64),
        "[hetero_graph] ", what, " of ", relation, " must be i32 or i64 [edges]");
  if (const std::int64_t bad = first_outside(ids, limit); bad >= 0)
    fail("[hetero_graph] ", what, "[", bad, "] of ", relation, " is ",
         static_cast<std::int64_t>(ids.slice(bad, bad + 1).item()), ", outside [0, ", limit, ")");
}

template <class Names>
std::string listed(const Names& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

struct HeteroGraph::State {
  std::vector<NodeType> types;
  std::vector<EdgeType> relations;
  Device device;
  std::vector<int> src, dst;  // types of each relation
  Ranges nodes, rows, edges, sources, targets;

  std::mutex mutex;                                     // of what follows, made at first use
  std::map<std::pair<Side, Side>, CooResult> matrices;  // by what rows and columns are numbered by
  Adjacency sum_relations;
  std::map<DType, Tensor> mean_weights;
  std::vector<std::optional<HeteroGraph>> with_targets;

  const CooResult& matrix(Side of_rows, Side of_cols);
  std::vector<std::int32_t> ends(bool of_rows, Side side) const;
};

/// For all edges the number of their row or column.
std::vector<std::int32_t> HeteroGraph::State::ends(bool of_rows, Side side) const {
  std::vector<std::int32_t> all(static_cast<std::size_t>(edges.total()));
  for (int r = 0; r < static_cast<int>(relations.size()); ++r) {
    const auto at = static_cast<std::size_t>(r);
    const Ranges& by_type = of_rows ? rows : nodes;
    const Ranges& by_relation = of_rows ? targets : sources;
    const std::int64_t shift =
        side == Side::kRelations ? by_relation.begin(r) : by_type.begin(of_rows ? dst[at] : src[at]);
    append_ids(of_rows ? relations[at].dst_ids : relations[at].src_ids, shift, edges.begin(r), all);
  }
  return all;
}

const CooResult& HeteroGraph::State::matrix(Side of_rows, Side of_cols) {
  const std::pair key{of_rows, of_cols};
  auto at = matrices.find(key);
  if (at == matrices.end()) {
    const auto size = [](Side side, const Ranges& by_type, const Ranges& by_relation) {
      return (side == Side::kNodes ? by_type : by_relation).total();
    };
    const std::vector<std::int32_t> row = ends(true, of_rows), col = ends(false, of_cols);
    at = matrices
             .emplace(key, coo_to_csr(Tensor::from(row, device), Tensor::from(col, device),
                                      size(of_rows, rows, targets), size(of_cols, nodes, sources),
                                      {.edge_ids = true}))
             .first;
  }
  return at->second;
}

HeteroGraph::HeteroGraph(std::vector<NodeType> types, std::vector<EdgeType> relations, Device device)
    : state_(std::make_shared<State>()) {
  State& s = *state_;
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
    s.nodes.add(type.count);
    s.rows.add(type.targets);
  }
  std::map<std::string, int> names;
  for (const EdgeType& relation : s.relations) {
    const std::string name = relation.full_name();
    check(!relation.name.empty(), "[hetero_graph] relation ", name, " needs a name");
    check(names.emplace(name, 0).second, "[hetero_graph] there are two relations ", name);
    for (const std::string& end : {relation.src, relation.dst})
      check(position.contains(end), "[hetero_graph] relation ", name, " has an unknown node type ", end);
    const int src = position.at(relation.src), dst = position.at(relation.dst);
    check_ids(name, "src_ids", relation.src_ids, type(src).count);
    check_ids(name, "dst_ids", relation.dst_ids, type(dst).targets);
    check(relation.src_ids.numel() == relation.dst_ids.numel(), "[hetero_graph] ", name, " has ",
          relation.src_ids.numel(), " src_ids and ", relation.dst_ids.numel(), " dst_ids");
    s.src.push_back(src);
    s.dst.push_back(dst);
    s.edges.add(relation.src_ids.numel());
    const bool empty = relation.src_ids.numel() == 0;
    s.sources.add(empty ? 0 : type(src).count);
    s.targets.add(empty ? 0 : type(dst).targets);
  }
  for (const auto& [what, ranges] : {std::pair{"nodes", &s.nodes},
                                     {"sources of all relations", &s.sources},
                                     {"targets of all relations", &s.targets}})
    check(ranges->total() <= std::numeric_limits<std::int32_t>::max(), "[hetero_graph] there may be at most ",
          std::numeric_limits<std::int32_t>::max(), " ", what, ", got ", ranges->total());
}

const HeteroGraph::State& HeteroGraph::state() const {
  check(defined(), "[hetero_graph] the graph is undefined");
  return *state_;
}

Device HeteroGraph::device() const {
  return state().device;
}

HeteroGraph HeteroGraph::to(Device device) const {
  return device == this->device() ? *this : HeteroGraph(state().types, state().relations, device);
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
  return state().src.at(static_cast<std::size_t>(r));
}
int HeteroGraph::dst_type(int r) const {
  return state().dst.at(static_cast<std::size_t>(r));
}

int HeteroGraph::find_type(std::string_view name) const {
  std::vector<std::string> names;
  for (const NodeType& type : state().types) {
    if (type.name == name) return static_cast<int>(names.size());
    names.push_back(type.name);
  }
  fail("[hetero_graph] there is no node type ", name, "; there are ", listed(names));
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
        name, "; there are ", listed(names));
  return found;
}

std::int64_t HeteroGraph::num_nodes() const {
  return state().nodes.total();
}
std::int64_t HeteroGraph::num_nodes(int t) const {
  return state().nodes.size(t);
}
std::int64_t HeteroGraph::first_node(int t) const {
  return state().nodes.begin(t);
}
std::int64_t HeteroGraph::num_rows() const {
  return state().rows.total();
}
std::int64_t HeteroGraph::num_rows(int t) const {
  return state().rows.size(t);
}
std::int64_t HeteroGraph::first_row(int t) const {
  return state().rows.begin(t);
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
std::int64_t HeteroGraph::first_source(int r) const {
  return state().sources.begin(r);
}
std::int64_t HeteroGraph::first_target(int r) const {
  return state().targets.begin(r);
}

namespace {

template <class State>
const CooResult& locked_matrix(State& state, Side rows, Side cols) {
  const std::scoped_lock lock(state.mutex);
  return state.matrix(rows, cols);
}

}  // namespace

const Adjacency& HeteroGraph::stacked() const {
  state();
  return locked_matrix(*state_, Side::kNodes, Side::kRelations).adj;
}
const Adjacency& HeteroGraph::by_relation() const {
  state();
  return locked_matrix(*state_, Side::kRelations, Side::kNodes).adj;
}
const Adjacency& HeteroGraph::relation_blocks() const {
  state();
  return locked_matrix(*state_, Side::kRelations, Side::kRelations).adj;
}
const Tensor& HeteroGraph::stacked_edge_ids() const {
  state();
  return locked_matrix(*state_, Side::kNodes, Side::kRelations).edge_ids;
}
const Tensor& HeteroGraph::by_relation_edge_ids() const {
  state();
  return locked_matrix(*state_, Side::kRelations, Side::kNodes).edge_ids;
}
const Adjacency& HeteroGraph::sum_relations() const {
  const State& s = state();
  const std::scoped_lock lock(state_->mutex);
  if (!s.sum_relations.defined()) {
    std::vector<std::int32_t> row, col;
    for (int r = 0; r < num_relations(); ++r)
      for (std::int64_t i = 0; i < s.targets.size(r); ++i) {
        row.push_back(static_cast<std::int32_t>(s.rows.begin(dst_type(r)) + i));
        col.push_back(static_cast<std::int32_t>(s.targets.begin(r) + i));
      }
    state_->sum_relations = coo_to_csr(Tensor::from(row, s.device), Tensor::from(col, s.device),
                                       s.rows.total(), s.targets.total())
                                .adj;
  }
  return s.sum_relations;
}

const Tensor& HeteroGraph::stacked_mean_weight(DType dtype) const {
  const State& s = state();
  check(is_float(dtype), "[hetero_graph] edge weights must be floating point, got ", dtype);
  const std::scoped_lock lock(state_->mutex);
  Tensor& weight = state_->mean_weights[dtype];
  if (weight.defined()) return weight;
  const std::vector<std::int32_t> target = s.ends(true, Side::kRelations);
  std::vector<std::int64_t> degree(static_cast<std::size_t>(s.targets.total()));
  for (const std::int32_t t : target) ++degree[static_cast<std::size_t>(t)];
  std::vector<double> share(target.size());  // in the order of the edges' numbers
  for (std::size_t e = 0; e < share.size(); ++e)
    share[e] = 1 / static_cast<double>(degree[static_cast<std::size_t>(target[e])]);
  weight = take(Tensor::from(share).to(dtype).to(s.device),
                state_->matrix(Side::kNodes, Side::kRelations).edge_ids);
  return weight;
}

std::vector<RowSegment> HeteroGraph::nodes_to_stack() const {
  std::vector<RowSegment> segments;
  for (int r = 0; r < num_relations(); ++r)
    segments.push_back({first_node(src_type(r)), first_source(r), state().sources.size(r)});
  return segments;
}

std::vector<RowSegment> HeteroGraph::relations_to_rows() const {
  std::vector<RowSegment> segments;
  for (int r = 0; r < num_relations(); ++r)
    segments.push_back({first_target(r), first_row(dst_type(r)), state().targets.size(r)});
  return segments;
}

std::vector<RowSegment> HeteroGraph::targets_to_relations() const {
  std::vector<RowSegment> segments;
  for (int r = 0; r < num_relations(); ++r)
    segments.push_back({first_node(dst_type(r)), first_target(r), state().targets.size(r)});
  return segments;
}

std::vector<RowSegment> HeteroGraph::rows_by_type() const {
  std::vector<RowSegment> segments;
  for (int t = 0; t < num_types(); ++t) segments.push_back({first_node(t), first_row(t), num_rows(t)});
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

const HeteroGraph& HeteroGraph::with_targets_of(int t) const {
  check(t >= 0 && t < num_types(), "[hetero_graph] there is no node type ", t);
  const std::scoped_lock lock(state_->mutex);
  std::optional<HeteroGraph>& kept = state_->with_targets[static_cast<std::size_t>(t)];
  if (kept) return *kept;
  std::vector<NodeType> types = state().types;
  std::vector<EdgeType> relations = state().relations;
  for (int i = 0; i < num_types(); ++i)
    if (i != t) types[static_cast<std::size_t>(i)].targets = 0;
  for (int r = 0; r < num_relations(); ++r)
    if (EdgeType& of = relations[static_cast<std::size_t>(r)]; dst_type(r) != t)
      of.src_ids = of.dst_ids = Tensor::empty({0}, DType::kI32);
  return kept.emplace(std::move(types), std::move(relations), device());
}

}  // namespace rodeo
