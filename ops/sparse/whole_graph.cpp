#include "ops/sparse/whole_graph.h"

#include <memory>
#include <numeric>

#include "core/cuda_graph.h"
#include "ops/convert.h"
#include "ops/sparse/shard_plan.h"

namespace rodeo {
namespace {

/// Edge weights that never change.
struct ConstantWeight {
  Tensor local;       // [edges of the rank]
  Tensor whole;       // [edges of WholeGraph::adj], from the first product by columns on
  Tensor transposed;  // in the edge order of WholeGraph::transposed, from the first gradient on
};

struct WholeGraph {
  Adjacency adj;         // from the first product by columns on
  Adjacency transposed;  // for constant edge weights, from the first gradient on
  std::vector<ConstantWeight> weights;
};

/// Cached on ShardedRows::rows.
struct CachedWholeGraph {
  std::shared_ptr<WholeGraph> value = std::make_shared<WholeGraph>();
};

WholeGraph& stored(const Adjacency& rows) {
  return *rows.cached<CachedWholeGraph>([] { return CachedWholeGraph(); }).value;
}

void check_not_captured(const ShardedRows& shard, const char* what) {
  check(!is_capturing(shard.rows.device()), "[aggregation] ", what,
        " cannot be gathered during CUDA graph capture: run the work once before capturing");
}

Adjacency gather_graph(const ShardedRows& shard) {
  const NodePartition& nodes = *shard.nodes;
  const Communicator& ranks = nodes.ranks();
  const Csr& rows = shard.rows.csr();
  const Device device = shard.rows.device();
  std::vector<std::int64_t> length = rows.row_ptr.to_vector<std::int64_t>();
  std::adjacent_difference(length.begin(), length.end(), length.begin());
  length.erase(length.begin());
  std::vector<std::int64_t> row_ptr =
      ranks.all_gather(Tensor::from(length, device), nodes.rows()).to_vector<std::int64_t>();
  row_ptr.insert(row_ptr.begin(), 0);
  std::partial_sum(row_ptr.begin(), row_ptr.end(), row_ptr.begin());
  const std::vector<std::int64_t> edges = edges_of_ranks(shard);
  return Adjacency::trusted({nodes.num_nodes(), nodes.num_nodes(), Tensor::from(row_ptr, device),
                             ranks.all_gather(rows.col, edges)});
}

ConstantWeight* find(const ShardedRows& shard, const Tensor& weight) {
  // By memory block: tensors without elements have no address of their own.
  for (ConstantWeight& known : stored(shard.rows).weights)
    if (known.local.storage() == weight.storage() && known.local.shares_memory_with(weight) &&
        known.local.shape() == weight.shape() && known.local.dtype() == weight.dtype())
      return &known;
  return nullptr;
}

}  // namespace

const Adjacency& whole_graph(const ShardedRows& shard) {
  Adjacency& whole = stored(shard.rows).adj;
  if (!whole.defined()) {
    check_not_captured(shard, "the whole graph");
    whole = gather_graph(shard);
  }
  return whole;
}

void keep_constant_weight(const ShardedRows& shard, const Tensor& weight) {
  if (!find(shard, weight)) stored(shard.rows).weights.push_back({weight, {}, {}});
}

bool is_constant_weight(const ShardedRows& shard, const Variable& weight) {
  return !weight.requires_grad() && find(shard, weight.value());
}

WeightedGraph whole_weighted(const ShardedRows& shard, const Tensor& weight) {
  const Adjacency& whole = whole_graph(shard);
  if (!weight.defined()) return {whole, {}};
  ConstantWeight& known = *find(shard, weight);
  if (!known.whole.defined()) {
    check_not_captured(shard, "edge weights");
    known.whole = shard.nodes->ranks().all_gather(weight, edges_of_ranks(shard));
  }
  return {whole, known.whole};
}

WeightedGraph transposed_weighted(const ShardedRows& shard, const Tensor& weight) {
  const WeightedGraph whole = whole_weighted(shard, weight);
  if (!weight.defined()) return {transpose_pattern(whole.adj), {}};
  ConstantWeight& known = *find(shard, weight);
  Adjacency& transposed = stored(shard.rows).transposed;
  if (!known.transposed.defined()) {
    check_not_captured(shard, "edge weights");
    // The handle has a cache of its own, so that edge_ids, 8 bytes an edge, are freed here.
    const Adjacency handle = Adjacency::trusted(whole.adj.csr());
    const Transposed t = transpose(handle);
    known.transposed = take(whole.weight, t.edge_ids);
    if (!transposed.defined()) transposed = t.adj == handle ? whole.adj : Adjacency::trusted(t.adj.csr());
  }
  return {transposed, known.transposed};
}

std::vector<Adjacency> whole_graphs(const Adjacency& rows) {
  const WholeGraph& graph = stored(rows);
  std::vector<Adjacency> out;
  if (graph.adj.defined()) out.push_back(graph.adj);
  if (graph.transposed.defined() && !(graph.transposed == graph.adj)) out.push_back(graph.transposed);
  return out;
}

void release_whole_graph(const Adjacency& rows) {
  release_whole_weights(rows);
  stored(rows).adj = {};
}

void release_whole_weights(const Adjacency& rows) {
  WholeGraph& graph = stored(rows);
  for (ConstantWeight& known : graph.weights) known.whole = known.transposed = {};
  graph.transposed = {};
}

}  // namespace rodeo
