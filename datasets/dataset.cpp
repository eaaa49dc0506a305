#include "datasets/dataset.h"

#include "datasets/hdf5_writer.h"

namespace rodeo {
namespace {

constexpr std::int64_t kCompressBelow = std::int64_t{32} << 20;  // bytes; gzip takes seconds above

Hdf5Writer::Storage storage_of(std::int64_t bytes) {
  return bytes < kCompressBelow ? Hdf5Writer::Storage::kCompressed : Hdf5Writer::Storage::kPlain;
}

Tensor mask(const Tensor& nodes, std::int64_t num_nodes) {
  const Tensor out = Tensor::zeros({num_nodes}, DType::kU8);
  for (const std::int64_t node : nodes.to_vector<std::int64_t>()) out.data<std::uint8_t>()[node] = 1;
  return out;
}

}  // namespace

void save_dataset(const Dataset& dataset, const std::string& path) {
  check(dataset.src.defined() != dataset.indptr.defined(), path,
        ": a dataset has either an edge list or a CSR");
  Hdf5Writer file(path);
  const auto write = [&](const char* name, const Tensor& values) {
    if (values.defined()) file.write(name, values, storage_of(values.nbytes()));
  };
  file.attribute("name", dataset.name);
  file.attribute("num_nodes", dataset.num_nodes);
  if (dataset.y.defined()) file.attribute("num_classes", dataset.num_classes);
  if (dataset.src.defined())
    file.write_rows("edge_index", {dataset.src, dataset.dst}, storage_of(2 * dataset.src.nbytes()));
  write("indptr", dataset.indptr);
  write("indices", dataset.indices);
  write("edge_weight", dataset.edge_weight);
  write("x", dataset.x);
  write("y", dataset.y);
  const auto& [train, val, test] = dataset.split;
  if (train.defined()) write("train_mask", mask(train, dataset.num_nodes));
  if (val.defined()) write("val_mask", mask(val, dataset.num_nodes));
  if (test.defined()) write("test_mask", mask(test, dataset.num_nodes));
  file.commit();
}

Graph to_graph(const Dataset& dataset, Device device, const CooOptions& options) {
  const std::int64_t n = dataset.num_nodes;
  Tensor row, col;
  if (dataset.indptr.defined()) {
    const Adjacency stored(Csr{n, n, dataset.indptr.to(device), dataset.indices.to(DType::kI32).to(device)});
    row = edge_rows(stored);
    col = stored.csr().col;
  } else {
    row = dataset.dst.to(device);
    col = dataset.src.to(device);
  }
  const bool weighted = dataset.edge_weight.defined();
  CooOptions sort = options;
  sort.edge_ids = weighted;
  const CooResult sorted = coo_to_csr(row, col, n, n, sort);
  return {sorted.adj, weighted ? take(dataset.edge_weight.to(device), sorted.edge_ids, 1) : Tensor()};
}

}  // namespace rodeo
