#include "ops/sparse/pipelined_sum.h"

#include <vector>

#include "ops/combine.h"
#include "ops/convert.h"
#include "ops/plan/aggregation_cost.h"
#include "ops/sddmm.h"
#include "ops/sparse/spmm_sum.h"

namespace rodeo {
namespace {

/// The first column of each block, and the end.
std::vector<std::int64_t> block_bounds(const Tensor& x) {
  const std::int64_t n = x.dim(1), width = columns_of_block(n, size_of(x.dtype()));
  std::vector<std::int64_t> bounds;
  for (std::int64_t begin = 0; begin < n; begin += width) bounds.push_back(begin);
  bounds.push_back(n);
  return bounds;
}

struct Sum {
  Tensor y;
  std::vector<Tensor> x;  // each block's columns, of all nodes
};

Sum compute(const ShardedRows& shard, const Tensor& weight, const Tensor& x, const SpmmOptions& options) {
  const NodePartition& nodes = *shard.nodes;
  const std::vector<std::int64_t> bounds = block_bounds(x);
  const auto start = [&](std::size_t block) {
    return nodes.ranks().start_all_gather(columns(x, bounds[block], bounds[block + 1]), nodes.rows());
  };
  Sum sum;
  std::vector<Tensor> y;
  Tensor arriving = start(0);
  for (std::size_t block = 0; block + 1 < bounds.size(); ++block) {
    nodes.ranks().finish(arriving);
    sum.x.push_back(arriving);
    if (block + 2 < bounds.size()) arriving = start(block + 1);
    y.push_back(spmm_sum(shard.rows, weight, sum.x.back(), options));
  }
  sum.y = concat_columns(y);
  return sum;
}

Tensor gradient_of_x(const ShardedRows& shard, const Tensor& weight, const Tensor& dy,
                     const SpmmOptions& options) {
  const NodePartition& nodes = *shard.nodes;
  const Communicator& ranks = nodes.ranks();
  Adjacency transposed;
  Tensor transposed_weight;
  if (weight.defined()) {
    const Transposed t = transpose(shard.rows);
    transposed = t.adj, transposed_weight = take(weight, t.edge_ids);
  } else {
    transposed = transpose_pattern(shard.rows);
  }
  const std::vector<std::int64_t> bounds = block_bounds(dy);
  std::vector<Tensor> dx;
  for (std::size_t block = 0; block + 1 < bounds.size(); ++block) {
    const Tensor sum =
        spmm_sum(transposed, transposed_weight, columns(dy, bounds[block], bounds[block + 1]), options);
    if (!dx.empty()) ranks.finish(dx.back());
    dx.push_back(ranks.start_reduce_scatter(sum, nodes.rows()));
  }
  ranks.finish(dx.back());
  return concat_columns(dx);
}

}  // namespace

Variable pipelined_sum(const ShardedRows& shard, const Variable& weight, const Variable& x,
                       const SpmmOptions& options) {
  const Tensor w = weight.defined() ? weight.value() : Tensor();
  Sum sum = compute(shard, w, x.value(), options);
  if (!weight.requires_grad()) sum.x.clear();
  return record("spmm", sum.y, {weight, x},
                [shard = shard, w, x = sum.x, needs_dx = x.requires_grad(), options](const Tensor& dy) {
                  Tensor dweight, dx;
                  if (!x.empty())
                    dweight = sddmm(shard.rows, dy, concat_columns(x), SddmmOp::kDot, {}, options.sddmm);
                  if (needs_dx) dx = gradient_of_x(shard, w, dy, options);
                  return std::vector{dweight, dx};
                });
}

}  // namespace rodeo
