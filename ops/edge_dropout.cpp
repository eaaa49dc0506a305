#include "ops/edge_dropout.h"

#include "core/node_partition.h"
#include "ops/checks.h"
#include "ops/kernels/attention.h"

namespace rodeo {

Tensor edge_dropout(const Adjacency& adj, const Tensor& x, double p, RandomKey key) {
  if (const ShardedRows* share = adj.shard()) {
    key.first_row = share->nodes->first_row();
    return edge_dropout(share->rows, x, p, key);
  }
  check_matrix("edge_dropout", "x", x);
  check_shape("edge_dropout", "x", x, {adj.num_edges(), x.dim(1)});
  check_on_device_of("edge_dropout", adj, "x", x);
  check(p >= 0 && p < 1, "[edge_dropout] p must be in [0, 1), got ", p);
  if (p == 0) return x;
  const Tensor y = Tensor::empty(x.shape(), x.dtype(), x.device());
  if (y.numel() > 0) kernels::edge_dropout.on(y.device())(adj.csr(), x, p, key, y);
  return y;
}

Variable edge_dropout(const Adjacency& adj, const Variable& x, double p, RandomKey key) {
  return record("edge_dropout", edge_dropout(adj, x.value(), p, key), {x},
                [=](const Tensor& dy) { return std::vector{edge_dropout(adj, dy, p, key)}; });
}

}  // namespace rodeo
