#include "layers/graph_pool.h"

#include <numeric>
#include <vector>

#include "ops/attention.h"
#include "ops/segment_reduce.h"

namespace rodeo {
namespace {

Variable reshaped(const Variable& x, const Shape& shape) {
  return record("reshape", x.value().reshape(shape), {x},
                [from = x.shape()](const Tensor& dy) { return std::vector{dy.reshape(from)}; });
}

}  // namespace

GraphPool::GraphPool(PoolKind kind, std::int64_t width, Random& random, Device device, DType dtype)
    : kind_(kind) {
  check(width >= 1, "[graph_pool] width must be at least 1, got ", width);
  if (kind != PoolKind::kAttention) return;
  gate_ = std::make_unique<Linear>(width, 1, random, true, device, dtype);
  register_module("gate_nn", gate_.get());
}

Variable GraphPool::forward(const Variable& x, const Tensor& offsets) const {
  if (kind_ != PoolKind::kAttention)
    return segment_reduce(x, offsets,
                          kind_ == PoolKind::kSum    ? Reduce::kSum
                          : kind_ == PoolKind::kMean ? Reduce::kMean
                                                     : Reduce::kMax);
  check(x.defined() && x.shape().rank() == 2, "[graph_pool] x must be a matrix [nodes, width]");
  check(offsets.defined() && offsets.rank() == 1 && offsets.dtype() == DType::kI64 && offsets.numel() >= 1,
        "[graph_pool] offsets must be i64 [graphs + 1]");
  const std::int64_t nodes = x.dim(0), width = x.dim(1), graphs = offsets.numel() - 1;
  std::vector<std::int32_t> all(static_cast<std::size_t>(nodes));
  std::iota(all.begin(), all.end(), 0);
  const Adjacency segments(Csr{graphs, nodes, offsets, Tensor::from(all, x.device())});  // checks offsets
  const Variable pooled = attention_from_scores(segments, gate_->forward(x), reshaped(x, {nodes, 1, width}));
  return reshaped(pooled, {graphs, width});
}

}  // namespace rodeo
