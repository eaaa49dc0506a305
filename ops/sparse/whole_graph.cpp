#include "ops/sparse/whole_graph.h"

#include <numeric>
#include <vector>

#include "core/cuda_graph.h"
#include "ops/sparse/shard_plan.h"

namespace rodeo {
namespace {

Adjacency gather_graph(const ShardedRows& share) {
  const NodePartition& nodes = *share.nodes;
  const Communicator& ranks = nodes.ranks();
  const Csr& own = share.rows.csr();
  const Device device = share.rows.device();
  std::vector<std::int64_t> length = own.row_ptr.to_vector<std::int64_t>();
  std::adjacent_difference(length.begin(), length.end(), length.begin());
  length.erase(length.begin());
  std::vector<std::int64_t> row_ptr =
      ranks.all_gather(Tensor::from(length, device), nodes.rows()).to_vector<std::int64_t>();
  row_ptr.insert(row_ptr.begin(), 0);
  std::partial_sum(row_ptr.begin(), row_ptr.end(), row_ptr.begin());
  std::vector<std::int64_t> edges;
  for (const double count : of_ranks(share, static_cast<double>(own.col.numel())))
    edges.push_back(static_cast<std::int64_t>(count));
  return Adjacency::trusted({nodes.num_nodes(), nodes.num_nodes(), Tensor::from(row_ptr, device),
                             ranks.all_gather(own.col, edges)});
}

}  // namespace

const Adjacency& whole_graph(const ShardedRows& share) {
  Adjacency& whole = shard_plan(share).found->whole;
  if (!whole.defined()) {
    check(!is_capturing(share.rows.device()),
          "[aggregation] the whole graph cannot be gathered during CUDA graph capture: run the work once "
          "before "
          "capturing");
    whole = gather_graph(share);
  }
  return whole;
}

}  // namespace rodeo
