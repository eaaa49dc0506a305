#include "ops/dense_csr.h"

#include <limits>

#include "ops/checks.h"
#include "ops/kernels/graph.h"

namespace rodeo {
namespace {

Tensor fill_dense(const Adjacency& adj, const Tensor& weight, DType dtype) {
  const Tensor y = Tensor::empty({adj.rows(), adj.cols()}, dtype, adj.device());
  if (y.numel() > 0) kernels::csr_to_dense.on(y.device())(adj.csr(), weight, y);
  return y;
}

}  // namespace

WeightedAdjacency dense_to_csr(const Tensor& x, RowScan scan) {
  check_matrix("dense_to_csr", "x", x);
  check(x.dim(1) <= std::numeric_limits<std::int32_t>::max(),
        "[dense_to_csr] x must have at most 2^31 - 1 columns, got ", x.shape());
  kernels::WeightedCsr made = kernels::dense_to_csr.on(x.device())(x, scan);
  return {Adjacency::trusted(std::move(made.csr)), made.weight};
}

Tensor csr_to_dense(const Adjacency& adj, const Tensor& weight) {
  check(weight.defined(), "[csr_to_dense] weight is undefined: give a dtype for an unweighted matrix");
  check(is_float(weight.dtype()), "[csr_to_dense] weight must be floating point, got ", weight.dtype());
  check_shape("csr_to_dense", "weight", weight, {adj.num_edges()});
  check_on_device_of("csr_to_dense", adj, "weight", weight);
  return fill_dense(adj, weight, weight.dtype());
}

Tensor csr_to_dense(const Adjacency& adj, DType dtype) {
  check(is_float(dtype), "[csr_to_dense] dtype must be floating point, got ", dtype);
  return fill_dense(adj, {}, dtype);
}

}  // namespace rodeo
