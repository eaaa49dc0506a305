#include "ops/sparse/constant_weight.h"

#include <algorithm>
#include <vector>

#include "core/cuda_graph.h"
#include "ops/convert.h"
#include "ops/sparse/shard_plan.h"
#include "ops/sparse/whole_graph.h"

namespace rodeo {
namespace {

ConstantWeight* find(const ShardedRows& share, const Tensor& weight) {
  // By memory block: tensors without elements have no address of their own.
  for (ConstantWeight& of : shard_plan(share).found->weights)
    if (of.own.storage() == weight.storage() && of.own.shares_memory_with(weight) &&
        of.own.shape() == weight.shape() && of.own.dtype() == weight.dtype())
      return &of;
  return nullptr;
}

void check_not_captured(const ShardedRows& share) {
  check(!is_capturing(share.rows.device()),
        "[aggregation] edge weights cannot be gathered during CUDA graph capture: run the work once before "
        "capturing");
}

}  // namespace

void keep_constant_weight(const ShardedRows& share, const Tensor& weight) {
  if (!find(share, weight)) shard_plan(share).found->weights.push_back({weight, {}, {}});
}

bool is_constant_weight(const ShardedRows& share, const Variable& weight) {
  return !weight.requires_grad() && find(share, weight.value());
}

WeightedGraph whole_weighted(const ShardedRows& share, const Tensor& weight) {
  ConstantWeight& of = *find(share, weight);
  const Adjacency& whole = whole_graph(share);
  if (!of.whole.defined()) {
    check_not_captured(share);
    std::vector<std::int64_t> edges;
    for (const double count : of_ranks(share, static_cast<double>(weight.numel())))
      edges.push_back(static_cast<std::int64_t>(count));
    of.whole = share.nodes->ranks().all_gather(weight, edges);
  }
  return {whole, of.whole};
}

WeightedGraph transposed_weighted(const ShardedRows& share, const Tensor& weight) {
  const WeightedGraph whole = whole_weighted(share, weight);
  ConstantWeight& of = *find(share, weight);
  Adjacency& transposed = shard_plan(share).found->transposed;
  if (!of.transposed.defined()) {
    check_not_captured(share);
    // Of a handle of its own, whose cache has edge_ids: 8 bytes an edge, which are freed here.
    const Adjacency handle = Adjacency::trusted(whole.adj.csr());
    const Transposed t = transpose(handle);
    of.transposed = take(whole.weight, t.edge_ids);
    if (!transposed.defined()) transposed = t.adj == handle ? whole.adj : Adjacency::trusted(t.adj.csr());
  }
  return {transposed, of.transposed};
}

}  // namespace rodeo
