#include "ops/edge_dropout.h"

#include "ops/checks.h"
#include "ops/kernels/attention.h"
#include "ops/sparse/rank_graph.h"

namespace rodeo {

Tensor edge_dropout(const Adjacency& adj, const Tensor& x, double p, RandomKey key, std::int64_t first_head) {
  check_matrix("edge_dropout", "x", x);
  check_shape("edge_dropout", "x", x, {adj.num_edges(), x.dim(1)});
  check_on_device_of("edge_dropout", adj, "x", x);
  check(p >= 0 && p < 1, "[edge_dropout] p must be in [0, 1), got ", p);
  check(first_head >= 0, "[edge_dropout] first_head must not be negative, got ", first_head);
  if (p == 0) return x;
  const Tensor y = Tensor::empty(x.shape(), x.dtype(), x.device());
  if (y.numel() > 0)
    kernels::edge_dropout.on(y.device())(rank_rows(adj).csr(), x, p, key_of_rank(adj, key), first_head, y);
  return y;
}

Variable edge_dropout(const Adjacency& adj, const Variable& x, double p, RandomKey key,
                      std::int64_t first_head) {
  return record("edge_dropout", edge_dropout(adj, x.value(), p, key, first_head), {x},
                [=](const auto& dy) { return std::vector{edge_dropout(adj, dy, p, key, first_head)}; });
}

}  // namespace rodeo
