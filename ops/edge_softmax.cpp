#include "ops/edge_softmax.h"

#include "ops/checks.h"
#include "ops/kernels/attention.h"
#include "ops/sparse/rank_graph.h"

namespace rodeo {

Tensor edge_softmax(const Adjacency& adj, const Tensor& score) {
  check(score.defined(), "[edge_softmax] score is undefined");
  check(is_float(score.dtype()), "[edge_softmax] score must be floating point, got ", score.dtype());
  check((score.rank() == 1 || score.rank() == 2) && score.dim(0) == adj.num_edges(),
        "[edge_softmax] score must be [", adj.num_edges(), "] or [", adj.num_edges(), ", heads], got ",
        score.shape());
  check_on_device_of("edge_softmax", adj, "score", score);
  const Tensor y = Tensor::empty(score.shape(), score.dtype(), score.device());
  if (y.numel() > 0) kernels::edge_softmax.on(y.device())(rank_rows(adj), score, y);
  return y;
}

Variable edge_softmax(const Adjacency& adj, const Variable& score) {
  const Tensor y = edge_softmax(adj, score.value());
  return record("edge_softmax", y, {score}, [=](const Tensor& dy) {
    const Tensor ds = Tensor::empty(y.shape(), y.dtype(), y.device());
    if (ds.numel() > 0) kernels::edge_softmax_backward.on(ds.device())(rank_rows(adj), y, dy, ds);
    return std::vector{ds};
  });
}

}  // namespace rodeo
