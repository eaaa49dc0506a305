#include "ops/plan/row_clusters.h"

#include "ops/kernels/sparse.h"

namespace rodeo {

Tensor cluster_rows(const Adjacency& adj) {
  check(adj.rows() == adj.cols(), "[cluster_rows] the matrix must be square, got ", adj.rows(), " x ",
        adj.cols());
  const Tensor cluster = Tensor::empty({adj.rows()}, DType::kU8, adj.device());
  if (adj.rows() > 0) kernels::cluster_rows.on(adj.device())(adj.csr(), cluster);
  return cluster;
}

const Tensor& row_clusters(const Adjacency& adj) {
  struct Kept {
    Tensor cluster;
  };
  return adj
      .cached<Kept>([&] {
        const bool pays = RowClusters::pays(adj.rows(), adj.cols(), adj.num_edges());
        return Kept{pays ? cluster_rows(adj) : Tensor()};
      })
      .cluster;
}

}  // namespace rodeo
