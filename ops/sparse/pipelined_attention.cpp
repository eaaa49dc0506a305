#include "ops/sparse/pipelined_attention.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "ops/combine.h"
#include "ops/plan/aggregation_cost.h"
#include "ops/sparse/graph_attention.h"
#include "ops/sparse/shapes.h"

namespace rodeo {
namespace {

/// Some heads, with the rows of all ranks.
struct Block {
  std::int64_t begin, end;  // heads
  Tensor s, t, x, y;
  AttentionOptions options;
  kernels::AttentionSaved saved;
};
using Blocks = std::vector<Block>;

Blocks head_blocks_of(const ShardedRows& shard, const Tensor& x, const AttentionOptions& options) {
  const std::int64_t heads = x.dim(1), width = heads_of_block(heads, x.dim(2), size_of(x.dtype()));
  Blocks blocks;
  for (std::int64_t begin = 0; begin < heads; begin += width) {
    Block block{begin, std::min(heads, begin + width), {}, {}, {}, {}, options, {}};
    block.options.key.first_row = shard.nodes->first_row();
    block.options.first_head += begin;
    blocks.push_back(block);
  }
  return blocks;
}

/// The columns of the block's heads of x [n, heads, k], as a matrix.
Tensor columns_of(const Block& block, const Tensor& x) {
  return columns(as_matrix(x), block.begin * x.dim(2), block.end * x.dim(2));
}

void compute(const ShardedRows& shard, const Tensor& s, const Tensor& t, const Tensor& x, bool recorded,
             Blocks& blocks) {
  const NodePartition& nodes = *shard.nodes;
  const Communicator& ranks = nodes.ranks();
  const Tensor all_t = ranks.all_gather(t, nodes.rows());
  const auto start = [&](const Block& block) {
    return ranks.start_all_gather(columns_of(block, x), nodes.rows());
  };
  if (!blocks.empty()) blocks[0].x = start(blocks[0]);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    Block& block = blocks[i];
    ranks.finish(block.x);
    if (i + 1 < blocks.size()) blocks[i + 1].x = start(blocks[i + 1]);
    block.x = block.x.reshape({nodes.num_nodes(), block.end - block.begin, x.dim(2)});
    block.s = columns(s, block.begin, block.end), block.t = columns(all_t, block.begin, block.end);
    block.y = fused_attention(shard.rows, block.s, block.t, block.x, block.options,
                              recorded ? &block.saved : nullptr);
  }
}

std::vector<Tensor> gradients(const ShardedRows& shard, const Tensor& dy, const Blocks& blocks) {
  const NodePartition& nodes = *shard.nodes;
  const Communicator& ranks = nodes.ranks();
  std::vector<Tensor> ds, dt, dx;
  for (const Block& block : blocks) {
    const Tensor block_dy = columns_of(block, dy).reshape(block.y.shape());
    kernels::AttentionVectors none;
    const kernels::AttentionGradients of = fused_attention_gradients(
        shard.rows, block.s, block.t, block.x, block.options, block.y, block.saved, block_dy, none);
    if (!dx.empty()) ranks.finish(dx.back());
    dx.push_back(ranks.start_reduce_scatter(as_matrix(of.dx), nodes.rows()));
    ds.push_back(of.ds), dt.push_back(of.dt);
  }
  if (!dx.empty()) ranks.finish(dx.back());
  return {concat_columns(ds), ranks.reduce_scatter(concat_columns(dt), nodes.rows()),
          concat_columns(dx).reshape(dy.shape())};
}

}  // namespace

Variable pipelined_attention(const ShardedRows& shard, const Variable& s, const Variable& t,
                             const Variable& x, const AttentionOptions& options) {
  const bool recorded = grad_enabled() && (s.requires_grad() || t.requires_grad() || x.requires_grad());
  const auto blocks = std::make_shared<Blocks>(head_blocks_of(shard, x.value(), options));
  compute(shard, s.value(), t.value(), x.value(), recorded, *blocks);
  std::vector<Tensor> y;
  for (const Block& block : *blocks) y.push_back(as_matrix(block.y));
  return record("gat_attention", concat_columns(y).reshape(x.shape()), {s, t, x},
                [shard = shard, blocks](const Tensor& dy) { return gradients(shard, dy, *blocks); });
}

}  // namespace rodeo
