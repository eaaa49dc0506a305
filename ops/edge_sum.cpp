#include "ops/edge_sum.h"

#include "ops/checks.h"
#include "ops/index_checks.h"
#include "ops/kernels/sparse.h"

namespace rodeo {

Tensor edge_sum(const Adjacency& adj, const Tensor& x, const Tensor& edge_ids) {
  if (const ShardedRows* shard = adj.shard()) return edge_sum(shard->rows, x, edge_ids);
  check(x.defined(), "[edge_sum] x is undefined");
  check(x.rank() == 1 || x.rank() == 2, "[edge_sum] x must be [edges] or [edges, k], got ", x.shape());
  check(is_float(x.dtype()), "[edge_sum] x must be floating point, got ", x.dtype());
  check_on_device_of("edge_sum", adj, "x", x);
  check(x.dim(0) == adj.num_edges(), "[edge_sum] x must have ", adj.num_edges(), " rows, one an edge, got ",
        x.shape());
  if (edge_ids.defined()) {
    check(edge_ids.dtype() == DType::kI64, "[edge_sum] edge_ids must be i64, got ", edge_ids.dtype());
    check_shape("edge_sum", "edge_ids", edge_ids, {adj.num_edges()});
    check_on_device_of("edge_sum", adj, "edge_ids", edge_ids);
    check_indices("edge_sum", "edge_ids", edge_ids, adj.num_edges());
  }
  const std::int64_t k = x.rank() == 2 ? x.dim(1) : 1;
  const Tensor y =
      Tensor::empty(x.rank() == 2 ? Shape{adj.rows(), k} : Shape{adj.rows()}, x.dtype(), x.device());
  if (y.numel() == 0) return y;
  if (adj.num_edges() == 0)
    y.fill(0);
  else
    kernels::edge_sum.on(y.device())(adj, x.reshape({adj.num_edges(), k}), edge_ids,
                                     y.reshape({adj.rows(), k}));
  return y;
}

// The gradient is in ops/sparse/gradients.cpp.

}  // namespace rodeo
