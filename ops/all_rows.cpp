#include "ops/all_rows.h"

#include <numeric>
#include <vector>

#include "core/error.h"
#include "ops/id_ranges.h"

namespace rodeo {
namespace {

AllRows gather(const ShardedRows& shard) {
  const NodePartition& nodes = *shard.nodes;
  const Communicator& ranks = nodes.ranks();
  const Csr& own = shard.rows.csr();
  const std::vector<std::int64_t> edges =
      ranks.all_gather(Tensor::from(std::vector{own.col.numel()})).to_vector<std::int64_t>();
  const Tensor ends = Tensor::empty({nodes.num_rows()}, DType::kI64, own.row_ptr.device());
  number_ids(own.row_ptr.slice(1, own.rows + 1),
             std::accumulate(edges.begin(), edges.begin() + ranks.rank(), std::int64_t{0}), 1, ends);
  AllRows out{.nodes = nodes.num_nodes(),
              .edges = std::accumulate(edges.begin(), edges.end(), std::int64_t{0}),
              .row_ptr = Tensor::zeros({nodes.num_nodes() + 1}, DType::kI64, ends.device())};
  out.row_ptr.slice(1, nodes.num_nodes() + 1).copy_from(ranks.all_gather(ends, nodes.rows()));
  out.columns = std::make_shared<const PeerRows>(
      own.col, std::make_shared<const NodePartition>(ranks, edges, /*alignment=*/1));
  return out;
}

}  // namespace

AllRows all_rows(const Adjacency& adj) {
  const ShardedRows* const shard = adj.shard();
  if (!shard) return {adj.cols(), adj.num_edges(), adj.csr().row_ptr, nullptr};
  return adj.cached<AllRows>([&] { return gather(*shard); });
}

Adjacency cut_graph(const Adjacency& graph, const std::shared_ptr<const NodePartition>& nodes) {
  const Csr& all = graph.csr();
  const std::int64_t first = nodes->first_row(), rows = nodes->num_rows();
  check(all.rows == nodes->num_nodes(), "[cut_graph] the ranks have ", nodes->num_nodes(),
        " nodes, and the graph has ", all.rows);
  const auto edge = [&](std::int64_t row) {
    return all.row_ptr.slice(row, row + 1).to_vector<std::int64_t>()[0];
  };
  const std::int64_t begin = edge(first), end = edge(first + rows);
  const Tensor row_ptr = Tensor::empty({rows + 1}, DType::kI64, graph.device());
  number_ids(all.row_ptr.slice(first, first + rows + 1), -begin, 1, row_ptr);
  return Adjacency::sharded({rows, all.cols, row_ptr, all.col.slice(begin, end).clone()}, nodes, false);
}

}  // namespace rodeo
