#include "datasets/relation_sampler.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/error.h"
#include "ops/convert.h"
#include "ops/sample_neighbors.h"

namespace rodeo {
namespace {

/// Begins of the ranges of some numbers, the end of the last one behind them.
template <class Begin>
std::vector<std::int64_t> begins_of(int count, Begin&& begin) {
  std::vector<std::int64_t> out;
  for (int i = 0; i <= count; ++i) out.push_back(begin(i));
  return out;
}

/// The range that holds `number`; the last of those that begin there.
std::size_t range_of(const std::vector<std::int64_t>& begins, std::int64_t number) {
  return static_cast<std::size_t>(std::ranges::upper_bound(begins, number) - begins.begin()) - 1;
}

std::vector<std::int64_t> first_nodes(const HeteroGraph& graph) {
  return begins_of(graph.num_types(), [&](int t) { return graph.first_node(t); });
}

/// The rows of the nodes that have edges, relation after relation, and whose node each is.
struct Frontier {
  std::vector<std::int64_t> rows;
  std::vector<std::size_t> owner;
};

Frontier frontier_of(const SampledRelations& relations, const std::vector<std::int64_t>& nodes) {
  const HeteroGraph& graph = relations.graph;
  Frontier out;
  for (int r = 0; r < graph.num_relations(); ++r) {
    if (graph.num_edges(r) == 0) continue;
    const std::int64_t first = graph.first_node(graph.dst_type(r)),
                       count = graph.num_nodes(graph.dst_type(r));
    const NodeNumbers number = graph.targets(r);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i] < first || nodes[i] >= first + count) continue;
      const auto row = static_cast<std::size_t>(number.begin + (nodes[i] - first) * number.step);
      if (relations.row_ptr[row] == relations.row_ptr[row + 1]) continue;
      out.rows.push_back(static_cast<std::int64_t>(row));
      out.owner.push_back(i);
    }
  }
  return out;
}

/// One layer: `nodes` are its destinations and become its sources. On the host.
Block sample_layer(SampledRelations& relations, const Adjacency& graph, const SampleOptions& options,
                   const SampleKey& key, const Tensor& marks, std::vector<std::int64_t>& nodes) {
  const Device device = graph.device();
  const std::size_t destinations = nodes.size();
  const auto [rows, owner] = frontier_of(relations, nodes);
  const auto num_rows = static_cast<std::int64_t>(rows.size());
  const Tensor count = Tensor::full({1}, static_cast<double>(num_rows), DType::kI64, device);
  const NeighborSample sample =
      sample_neighbors(graph, Tensor::from(rows, device), count, options, key, marks);
  const std::vector<std::int64_t> from = sample.row_ptr.to_vector<std::int64_t>();
  const std::int64_t edges = from.back(), sources = sample.num_nodes.to_vector<std::int64_t>()[0];
  const std::vector<std::int32_t> col = sample.col.slice(0, edges).to_vector<std::int32_t>();
  const std::vector<std::int64_t> found = sample.nodes.slice(num_rows, sources).to_vector<std::int64_t>();
  const std::vector<std::int64_t> edge =
      take(relations.graph.by_target_edge_ids(), sample.edge_ids.slice(0, edges)).to_vector<std::int64_t>();

  std::vector<std::int32_t>& number_of = relations.number_of;
  const auto number = [&](std::int64_t node) -> std::int32_t& {
    return number_of[static_cast<std::size_t>(node)];
  };
  for (std::size_t i = 0; i < destinations; ++i) number(nodes[i]) = static_cast<std::int32_t>(i);
  const std::int64_t first = graph.rows() - relations.graph.num_nodes();
  std::vector<std::int32_t> local;
  for (const std::int64_t behind : found) {
    std::int32_t& at = number(behind - first);
    if (at < 0) at = static_cast<std::int32_t>(nodes.size()), nodes.push_back(behind - first);
    local.push_back(at);
  }
  for (const std::int64_t node : nodes) number(node) = -1;

  std::vector<std::int64_t> row_ptr(destinations + 1), ids(edge.size());
  for (std::size_t k = 0; k < owner.size(); ++k) row_ptr[owner[k] + 1] += from[k + 1] - from[k];
  for (std::size_t i = 0; i < destinations; ++i) row_ptr[i + 1] += row_ptr[i];
  std::vector<std::int64_t> at(row_ptr.begin(), row_ptr.end() - 1);
  std::vector<std::int32_t> columns(edge.size());
  for (std::size_t k = 0; k < owner.size(); ++k)
    for (std::int64_t e = from[k]; e < from[k + 1]; ++e) {
      const auto to = static_cast<std::size_t>(at[owner[k]]++), of = static_cast<std::size_t>(e);
      columns[to] = local[static_cast<std::size_t>(col[of] - num_rows)];
      ids[to] = edge[of];
    }
  return {Adjacency::trusted({static_cast<std::int64_t>(destinations), std::ssize(nodes),
                              Tensor::from(row_ptr), Tensor::from(columns)}),
          Tensor::from(ids), Tensor::from(nodes)};
}

}  // namespace

Adjacency behind_rows(const HeteroGraph& graph) {
  check(graph.is_whole(), "[neighbor_sampler] the graph must be whole, not a block of a mini-batch");
  const Adjacency& by_target = graph.by_target();
  const std::int64_t rows = by_target.rows(), all = rows + by_target.cols(), edges = by_target.num_edges();
  check(all <= std::numeric_limits<std::int32_t>::max(), "[neighbor_sampler] there may be at most ",
        std::numeric_limits<std::int32_t>::max(), " nodes and targets of relations together, got ", all);
  const Device device = by_target.device();
  const Tensor row_ptr = Tensor::full({all + 1}, static_cast<double>(edges), DType::kI64, device);
  row_ptr.slice(0, rows + 1).copy_from(by_target.csr().row_ptr);
  std::vector<std::int32_t> col = by_target.csr().col.to_vector<std::int32_t>();
  for (std::int32_t& c : col) c += static_cast<std::int32_t>(rows);
  return Adjacency::trusted({all, all, row_ptr, Tensor::from(col, device)});
}

SampledRelations::SampledRelations(HeteroGraph of, int of_type)
    : graph(std::move(of)),
      target(of_type),
      row_ptr(graph.by_target().csr().row_ptr.to_vector<std::int64_t>()),
      number_of(static_cast<std::size_t>(graph.num_nodes()), -1) {}

SampledBatch sample_relations(SampledRelations& relations, const Adjacency& rows,
                              const NeighborSamplerOptions& options, const Tensor& marks,
                              const Tensor& targets, std::int64_t epoch, std::int64_t batch) {
  std::vector<std::int64_t> nodes = targets.to_vector<std::int64_t>();
  for (std::int64_t& node : nodes) node += relations.graph.first_node(relations.target);
  SampledBatch out{{}, targets};
  for (std::size_t hop = 0; hop < options.fanout.size(); ++hop) {
    const SampleKey key{options.seed, static_cast<std::uint64_t>(epoch), static_cast<std::uint64_t>(batch),
                        hop};
    out.blocks.push_back(sample_layer(
        relations, rows, {.fanout = options.fanout[hop], .replace = options.replace}, key, marks, nodes));
  }
  std::ranges::reverse(out.blocks);
  return out;
}

HeteroGraph block_graph(const HeteroGraph& whole, const Block& block) {
  std::vector<NodeType> types;
  for (int t = 0; t < whole.num_types(); ++t) types.push_back({whole.type(t).name, 0, 0});
  const std::vector<std::int64_t> nodes = block.sources.to_vector<std::int64_t>();
  const std::vector<std::int64_t> first_node = first_nodes(whole);
  std::vector<std::int32_t> within;  // its type
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    NodeType& type = types[range_of(first_node, nodes[i])];
    within.push_back(static_cast<std::int32_t>(type.count++));
    if (static_cast<std::int64_t>(i) < block.adj.rows()) ++type.targets;
  }
  const std::vector<std::int64_t> first_edge =
      begins_of(whole.num_relations(), [&](int r) { return whole.first_edge(r); });
  const std::vector<std::int64_t> row_ptr = block.adj.csr().row_ptr.to_vector<std::int64_t>(),
                                  edge = block.edge_ids.to_vector<std::int64_t>();
  const std::vector<std::int32_t> col = block.adj.csr().col.to_vector<std::int32_t>();
  std::vector<std::vector<std::int32_t>> src(first_edge.size() - 1), dst(src.size());
  for (std::size_t row = 0; row + 1 < row_ptr.size(); ++row)
    for (auto e = static_cast<std::size_t>(row_ptr[row]); e < static_cast<std::size_t>(row_ptr[row + 1]);
         ++e) {
      const std::size_t r = range_of(first_edge, edge[e]);
      src[r].push_back(within[static_cast<std::size_t>(col[e])]);
      dst[r].push_back(within[row]);
    }
  std::vector<EdgeType> relations;
  for (std::size_t r = 0; r < src.size(); ++r) {
    const EdgeType& of = whole.relation(static_cast<int>(r));
    relations.push_back({of.src, of.name, of.dst, Tensor::from(src[r]), Tensor::from(dst[r])});
  }
  return {std::move(types), std::move(relations), whole.device()};
}

std::vector<Tensor> nodes_by_type(const HeteroGraph& graph, const Tensor& nodes) {
  const std::vector<std::int64_t> first = first_nodes(graph);
  std::vector<std::vector<std::int64_t>> ids(first.size() - 1);
  for (const std::int64_t node : nodes.to_vector<std::int64_t>()) {
    const std::size_t type = range_of(first, node);
    ids[type].push_back(node - first[type]);
  }
  std::vector<Tensor> out;
  for (const auto& of_type : ids) out.push_back(Tensor::from(of_type, graph.device()));
  return out;
}

}  // namespace rodeo
