/// A small valid dataset file that tests modify.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "datasets/dataset.h"
#include "datasets/hdf5_writer.h"
#include "tests/support/temp_dir.h"

namespace rodeo::test {

using Ids = std::vector<std::int64_t>;

inline Ids wide(const Tensor& values) {
  return values.to(DType::kI64).to_vector<std::int64_t>();
}
inline Tensor ids(const Ids& values) {
  return Tensor::from(values);
}
inline Tensor flags(const Ids& values) {
  return ids(values).to(DType::kU8);
}

// The arrays of a file with 6 nodes; undefined arrays are not written. A constructor sets them, because GCC
// 12 miscompiles several default member initialisers of an aggregate at some optimisation levels.
struct Parts {
  Tensor edge_index, indptr, indices, edge_weight, x, y, train_mask, val_mask, test_mask;
  std::optional<std::int64_t> num_nodes, num_classes;

  explicit Parts(std::optional<std::int64_t> classes = 3) : num_classes(classes) {
    edge_index = Tensor::from<std::int64_t>({0, 1, 2, 3, 4, 1, 2, 3, 4, 5}, {2, 5});
    x = Tensor::from<float>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, {6, 2});
    y = ids({0, 1, 2, 0, 1, -1});
    train_mask = flags({1, 1, 0, 0, 0, 0});
    val_mask = flags({0, 0, 1, 0, 0, 0});
    test_mask = flags({0, 0, 0, 1, 1, 0});
  }
  void use_edges_only() { x = y = train_mask = val_mask = test_mask = {}; }
  void use_csr() {
    edge_index = {};
    indptr = ids({0, 2, 2, 3, 3, 4, 5});
    indices = ids({3, 1, 0, 5, 4});
  }
  void write(const std::string& path) const {
    Hdf5Writer file(path);
    write(file);
    file.commit();
  }
  void write(Hdf5Writer& file, Hdf5Writer::Storage storage = Hdf5Writer::Storage::kPlain) const {
    const auto put = [&](const char* name, const Tensor& values) {
      if (values.defined()) file.write(name, values, storage);
    };
    put("edge_index", edge_index);
    put("indptr", indptr);
    put("indices", indices);
    put("edge_weight", edge_weight);
    put("x", x);
    put("y", y);
    put("train_mask", train_mask);
    put("val_mask", val_mask);
    put("test_mask", test_mask);
    if (num_nodes) file.attribute("num_nodes", *num_nodes);
    if (num_classes) file.attribute("num_classes", *num_classes);
  }
};

inline Dataset load(const Parts& parts, const LoadOptions& options = {.need = Need::kTraining}) {
  const TempDir dir;
  parts.write(dir / "a.h5");
  return load_dataset(dir / "a.h5", options);
}

}  // namespace rodeo::test
