#include "datasets/dataset.h"

#include "ops/dense_csr.h"

namespace rodeo {

Features sparse_features(const Dataset& dataset, Device device) {
  check(dataset.has_features(), "[sparse_features] the dataset has no features");
  if (dataset.x.defined()) {
    const WeightedAdjacency entries = dense_to_csr(dataset.x.to(device));
    return sparse_features(entries.adj, entries.weight);
  }
  const SparseFeatures& x = dataset.x_sparse;
  const Adjacency entries(Csr{dataset.num_nodes, dataset.num_features, x.indptr.to(device),
                              x.indices.to(DType::kI32).to(device)});
  return sparse_features(entries, x.data.to(device));
}

Tensor dense_features(const Dataset& dataset) {
  if (dataset.x.defined() || !dataset.x_sparse.defined()) return dataset.x;
  const auto& [indptr, indices, data] = dataset.x_sparse;
  return csr_to_dense(
      Adjacency::trusted({indptr.numel() - 1, dataset.num_features, indptr, indices.to(DType::kI32)}), data);
}

Tensor graph_set_features(const Dataset& dataset) {
  return dataset.has_features() ? dense_features(dataset).to(kCpu) : Tensor::full({dataset.num_nodes, 1}, 1);
}

Graph to_graph(const Dataset& dataset, Device device, const CooOptions& options) {
  const std::int64_t n = dataset.num_nodes;
  const bool weighted = dataset.edge_weight.defined();
  check(!weighted || dataset.edge_weight.shape() == Shape{dataset.num_edges()},
        "[to_graph] edge_weight must be [", dataset.num_edges(), "], got ",
        weighted ? dataset.edge_weight.shape() : Shape{});
  const bool with_attr = dataset.edge_attr.defined();
  check(!with_attr || (dataset.edge_attr.rank() == 2 && dataset.edge_attr.dim(0) == dataset.num_edges()),
        "[to_graph] edge_attr must be [", dataset.num_edges(), ", n], got ",
        with_attr ? dataset.edge_attr.shape() : Shape{});
  CooOptions sort = options;
  sort.edge_ids = weighted || with_attr;
  const CooResult sorted = dataset.indptr.defined()
                               ? sort_csr(dataset.indptr.to(device), dataset.indices.to(device), n, n, sort)
                               : coo_to_csr(dataset.dst.to(device), dataset.src.to(device), n, n, sort);
  const auto ordered = [&](const Tensor& values, double of_loop) {
    if (!values.defined()) return values;
    const Tensor moved = values.to(device);
    return sorted.edge_ids.defined() ? take(moved, sorted.edge_ids, of_loop) : moved;
  };
  return {sorted.adj, ordered(dataset.edge_weight, 1), ordered(dataset.edge_attr, 0)};
}

}  // namespace rodeo
