#include "ops/hetero_shard.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "ops/combine.h"
#include "ops/sparse/hetero_state.h"

namespace rodeo {
namespace {

/// The edges of a relation to the nodes [begin, end), in their order.
EdgeType edges_into(const EdgeType& relation, std::int64_t begin, std::int64_t end) {
  const Tensor src = relation.src_ids.to(kCpu).to(DType::kI32),
               dst = relation.dst_ids.to(kCpu).to(DType::kI32);
  const auto* from = src.data<std::int32_t>();
  const auto* into = dst.data<std::int32_t>();
  const auto is_own = [=](std::int32_t id) { return id >= begin && id < end; };
  const std::int64_t edges = std::count_if(into, into + dst.numel(), is_own);
  EdgeType out{relation.src, relation.name, relation.dst, Tensor::empty({edges}, DType::kI32),
               Tensor::empty({edges}, DType::kI32)};
  for (std::int64_t e = 0, at = 0; e < dst.numel(); ++e)
    if (is_own(into[e])) {
      out.src_ids.data<std::int32_t>()[at] = from[e];
      out.dst_ids.data<std::int32_t>()[at++] = into[e];
    }
  return out;
}

std::int64_t num_rank_nodes(const HeteroGraph& graph) {
  std::int64_t count = 0;
  for (int t = 0; t < graph.num_types(); ++t) count += rank_nodes(graph, t).count;
  return count;
}

}  // namespace

HeteroGraph HeteroGraph::shard(std::vector<std::shared_ptr<const NodePartition>> nodes) const {
  check(is_whole() && !is_block() && !is_sharded(),
        "[hetero_graph] a shard needs a graph whose nodes are all destinations");
  check(std::ssize(nodes) == num_types(), "[hetero_graph] there must be ", num_types(),
        " partitions, one a node type, got ", nodes.size());
  std::vector<NodeType> types = state().types;
  for (int t = 0; t < num_types(); ++t) {
    const auto& of_type = nodes[static_cast<std::size_t>(t)];
    check(of_type && of_type->num_nodes() == num_nodes(t), "[hetero_graph] the partition of ", type(t).name,
          " must have ", num_nodes(t), " nodes, got ", of_type ? of_type->num_nodes() : 0);
    types[static_cast<std::size_t>(t)].first_target = of_type->first_row();
    types[static_cast<std::size_t>(t)].targets = of_type->num_rows();
  }
  std::vector<EdgeType> relations;
  for (int r = 0; r < num_relations(); ++r) {
    const NodePartition& into = *nodes[static_cast<std::size_t>(dst_type(r))];
    relations.push_back(edges_into(relation(r), into.first_row(), into.first_row() + into.num_rows()));
  }
  HeteroGraph out = derive(std::move(types), std::move(relations), device());
  out.state_->shards = std::move(nodes);
  return out;
}

RankNodes rank_nodes(const HeteroGraph& graph, int t) {
  if (!graph.is_sharded()) return {0, graph.num_nodes(t)};
  const NodePartition& nodes = graph.partition(t);
  return {nodes.first_row(), nodes.num_rows()};
}

Variable gather_nodes(const HeteroGraph& graph, const Variable& x) {
  if (!graph.is_sharded()) return x;
  check(x.shape().rank() == 2 && x.dim(0) == num_rank_nodes(graph), "[gather_nodes] x must be [",
        num_rank_nodes(graph), ", n], the nodes of the rank, got ", x.shape());
  std::vector<Tensor> all;
  std::int64_t begin = 0;
  for (int t = 0; t < graph.num_types(); ++t) {
    const NodePartition& nodes = graph.partition(t);
    all.push_back(nodes.ranks().all_gather(x.value().slice(begin, begin + nodes.num_rows()), nodes.rows()));
    begin += nodes.num_rows();
  }
  return record("gather_nodes", concat_rows(all), {x}, [graph](const Tensor& dy) {
    std::vector<Tensor> own;
    for (int t = 0; t < graph.num_types(); ++t) {
      const NodePartition& nodes = graph.partition(t);
      own.push_back(
          nodes.ranks().reduce_scatter(dy.slice(graph.first_node(t), graph.first_node(t + 1)), nodes.rows()));
    }
    return std::vector{concat_rows(own)};
  });
}

std::int64_t first_random_row(const HeteroGraph& graph) {
  if (!graph.is_sharded()) return 0;
  std::int64_t first = 0;
  for (int t = 0; t < graph.num_types(); ++t) {
    std::int64_t fold = 1;
    for (int r = 0; r < graph.num_relations(); ++r) fold += graph.dst_type(r) == t;
    first += fold * graph.partition(t).first_row();
  }
  return first;
}

}  // namespace rodeo
