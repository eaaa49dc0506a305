#include "datasets/relation_sampler.h"

#include <algorithm>
#include <utility>

#include "ops/convert.h"
#include "ops/id_ranges.h"
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

std::vector<std::int64_t> first_nodes(const HeteroGraph& graph) {
  return begins_of(graph.num_types(), [&](int t) { return graph.first_node(t); });
}

/// What is used of a sample of `targets` nodes, from one wait for the device.
Block cut_to_size(const HeteroGraph& graph, const NeighborSample& sample, std::int64_t targets) {
  const Tensor sizes = Tensor::empty({2}, DType::kI64, graph.device());
  sizes.slice(0, 1).copy_from(sample.row_ptr.slice(targets, targets + 1));
  sizes.slice(1, 2).copy_from(sample.num_nodes);
  const std::vector<std::int64_t> size = sizes.to_vector<std::int64_t>();
  return {sampled_graph(sample, targets, size[1], size[0]),
          take(graph.by_target_edge_ids(), sample.edge_ids.slice(0, size[0])),
          sample.nodes.slice(0, size[1])};
}

std::int64_t size_of_range(const RangeGroups& groups, int range) {
  return groups.begin[static_cast<std::size_t>(range) + 1] - groups.begin[static_cast<std::size_t>(range)];
}

}  // namespace

SampledBatch sample_relations(const SampledRelations& relations, const NeighborSamplerOptions& options,
                              const Tensor& marks, const Tensor& targets, std::int64_t epoch,
                              std::int64_t batch) {
  const auto& [graph, target] = relations;
  Tensor nodes = targets;
  if (target > 0) {
    nodes = Tensor::empty(targets.shape(), DType::kI64, graph.device());
    number_ids(targets, graph.first_node(target), 1, nodes);
  }
  SampledBatch out{{}, targets};
  for (std::size_t hop = 0; hop < options.fanout.size(); ++hop) {
    const SampleKey key{options.seed, static_cast<std::uint64_t>(epoch), static_cast<std::uint64_t>(batch),
                        hop};
    const NeighborSample sample =
        sample_rows_of(graph.by_target(), graph.sum_relations(), nodes,
                       {.fanout = options.fanout[hop], .replace = options.replace}, key, marks);
    out.blocks.push_back(cut_to_size(graph, sample, nodes.numel()));
    nodes = out.blocks.back().sources;
  }
  std::ranges::reverse(out.blocks);
  return out;
}

HeteroGraph block_graph(const HeteroGraph& whole, const Block& block) {
  const std::vector<std::int64_t> first_node = first_nodes(whole);
  const RangeGroups sources = group_by_range(block.sources, first_node),
                    targets = group_by_range(block.sources.slice(0, block.adj.rows()), first_node),
                    edges = group_by_range(block.edge_ids, begins_of(whole.num_relations(), [&](int r) {
                                             return whole.first_edge(r);
                                           }));
  std::vector<NodeType> types;
  for (int t = 0; t < whole.num_types(); ++t)
    types.push_back({whole.type(t).name, size_of_range(sources, t), size_of_range(targets, t)});
  // Both ends of all edges, relation after relation, as places among the sources sorted by type.
  const Tensor place = inverse_permutation(sources.order);
  const auto end = [&](const Tensor& of_edge) {
    return take(place, take(of_edge, edges.order).to(DType::kI64));
  };
  const Tensor src = end(block.adj.csr().col), dst = end(edge_rows(block.adj));
  std::vector<EdgeType> relations;
  for (int r = 0; r < whole.num_relations(); ++r) {
    const auto within_type = [&](const Tensor& ends, int type) {
      const std::int64_t first = edges.begin[static_cast<std::size_t>(r)];
      const Tensor ids = ends.slice(first, first + size_of_range(edges, r));
      number_ids(ids, -sources.begin[static_cast<std::size_t>(type)], 1, ids);
      return ids;
    };
    const EdgeType& of = whole.relation(r);
    relations.push_back(
        {of.src, of.name, of.dst, within_type(src, whole.src_type(r)), within_type(dst, whole.dst_type(r))});
  }
  return HeteroGraph::trusted(std::move(types), std::move(relations), whole.device());
}

Tensor sort_by_type(const HeteroGraph& graph, const Tensor& nodes) {
  return take(nodes, group_by_range(nodes, first_nodes(graph)).order);
}

std::vector<Tensor> nodes_by_type(const HeteroGraph& graph, const Tensor& nodes) {
  const RangeGroups groups = group_by_range(nodes, first_nodes(graph));
  const Tensor sorted = take(nodes, groups.order);
  std::vector<Tensor> out;
  for (int t = 0; t < graph.num_types(); ++t) {
    const std::int64_t first = groups.begin[static_cast<std::size_t>(t)];
    out.push_back(sorted.slice(first, first + size_of_range(groups, t)));
    number_ids(out.back(), -graph.first_node(t), 1, out.back());
  }
  return out;
}

}  // namespace rodeo
