#include "ops/edge_softmax.h"

#include "ops/checks.h"
#include "ops/combine.h"
#include "ops/edge_sum.h"
#include "ops/kernels/attention.h"
#include "ops/pointwise.h"
#include "ops/sddmm.h"
#include "ops/sparse/rank_graph.h"
#include "ops/sparse/shapes.h"

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

namespace {

Tensor gradient(const Adjacency& adj, const Tensor& y, const Tensor& dy) {
  const Tensor ds = Tensor::empty(y.shape(), y.dtype(), y.device());
  if (ds.numel() > 0) kernels::edge_softmax_backward.on(ds.device())(rank_rows(adj), y, dy, ds);
  return ds;
}
// y (dy - sum of y dy over the edges of the row)
Variable gradient(const Adjacency& adj, const Variable& y, const Variable& dy) {
  const Variable z = edge_matrix(mul(y, dy)), sums = edge_sum(adj, z);
  const Variable zero(Tensor::zeros({adj.cols(), z.dim(1)}, y.dtype(), y.device()));
  const Variable of_edges = reshape(sddmm(adj, sums, zero, SddmmOp::kAdd), y.shape());
  return linear_combination(1, reshape(z, y.shape()), -1, mul(y, of_edges));
}

}  // namespace

Variable edge_softmax(const Adjacency& adj, const Variable& score) {
  const SavedTensor y(edge_softmax(adj, score.value()));
  return record(
      "edge_softmax", y.get(), {score},
      [=](const auto& dy) { return std::vector{gradient(adj, y.like(dy), dy)}; }, y);
}

}  // namespace rodeo
