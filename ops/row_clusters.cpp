#include "ops/row_clusters.h"

#include "ops/kernels.h"

namespace rodeo {

Tensor cluster_rows(const Adjacency& adj) {
  check(adj.rows() == adj.cols(), "[cluster_rows] the matrix must be square, got ", adj.rows(), " x ",
        adj.cols());
  const Tensor cluster = Tensor::empty({adj.rows()}, DType::kU8, adj.device());
  if (adj.rows() > 0) kernels::cluster_rows.on(adj.device())(adj.csr(), cluster);
  return cluster;
}

}  // namespace rodeo
