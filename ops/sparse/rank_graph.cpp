#include "ops/sparse/rank_graph.h"

#include "ops/all_gather.h"

namespace rodeo {

bool spans_ranks(const Adjacency& adj) {
  return adj.shard() != nullptr;
}

const Adjacency& rank_rows(const Adjacency& adj) {
  const ShardedRows* shard = adj.shard();
  return shard ? shard->rows : adj;
}

Adjacency with_rows_of(const Adjacency& adj, const Csr& rows) {
  const ShardedRows* shard = adj.shard();
  return shard ? Adjacency::sharded(rows, shard->nodes, /*symmetric=*/false) : Adjacency::trusted(rows);
}

RandomKey key_of_rank(const Adjacency& adj, RandomKey key) {
  if (const ShardedRows* shard = adj.shard()) key.first_row = shard->nodes->first_row();
  return key;
}

Tensor rows_of_all_ranks(const Adjacency& adj, const Tensor& x) {
  const ShardedRows* shard = adj.shard();
  return shard ? all_gather(*shard->nodes, x) : x;
}

const ShardedRows& require_shard(const Adjacency& adj, std::string_view complaint) {
  const ShardedRows* shard = adj.shard();
  check(shard, complaint);
  return *shard;
}

}  // namespace rodeo
