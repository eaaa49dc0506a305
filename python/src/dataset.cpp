/// rodeo._core.Dataset. python/rodeo/dataset.py checks values and documents it.
#include "datasets/dataset.h"

#include "arrays.h"
#include "datasets/synthetic.h"
#include "train.h"

namespace rodeo::python {
namespace {

PyDataset load(const std::string& path, const std::string& split, std::uint64_t seed) {
  const Hdf5Lock lock(path);
  PyDataset dataset{load_dataset(path, {.split = split, .seed = seed, .all_splits = true}), {}};
  dataset.edge_split = load_edge_split(path, dataset.data.num_nodes);
  return dataset;
}

PyDataset generate(const std::string& preset, std::uint64_t seed) {
  nb::gil_scoped_release release;
  SyntheticOptions options = synthetic_preset(preset);
  options.seed = seed;
  return {synthesize(options), {}};
}

std::vector<std::pair<const char*, Tensor*>> arrays_by_name(PyDataset& dataset) {
  Dataset& data = dataset.data;
  EdgeSplit& edges = dataset.edge_split;
  return {{"src", &data.src},
          {"dst", &data.dst},
          {"indptr", &data.indptr},
          {"indices", &data.indices},
          {"edge_weight", &data.edge_weight},
          {"edge_attr", &data.edge_attr},
          {"graph_ptr", &data.graph_ptr},
          {"graph_y", &data.graph_label},
          {"x", &data.x},
          {"x_indptr", &data.x_sparse.indptr},
          {"x_indices", &data.x_sparse.indices},
          {"x_data", &data.x_sparse.data},
          {"y", &data.y},
          {"train", &data.split.train},
          {"val", &data.split.val},
          {"test", &data.split.test},
          {"graph_train", &data.graph_split.train},
          {"graph_val", &data.graph_split.val},
          {"graph_test", &data.graph_split.test},
          {"val_src", &edges.val.src},
          {"val_dst", &edges.val.dst},
          {"test_src", &edges.test.src},
          {"test_dst", &edges.test.dst},
          {"val_negative_src", &edges.val_negative.src},
          {"val_negative_dst", &edges.val_negative.dst},
          {"test_negative_src", &edges.test_negative.src},
          {"test_negative_dst", &edges.test_negative.dst}};
}

/// All arrays are contiguous NumPy arrays of the dtypes of rodeo::Dataset, or None.
PyDataset from_arrays(const nb::dict& arrays, std::int64_t num_nodes, std::int64_t num_features,
                      std::int64_t num_classes, const std::string& name) {
  PyDataset dataset;
  dataset.data.name = name;
  dataset.data.num_nodes = num_nodes, dataset.data.num_features = num_features;
  dataset.data.num_classes = num_classes;
  for (const auto& [key, tensor] : arrays_by_name(dataset))
    if (arrays.contains(key)) *tensor = read("dataset", key, arrays[key], true);
  return dataset;
}

nb::dict arrays_of(PyDataset dataset) {
  nb::dict arrays;
  for (const auto& [name, tensor] : arrays_by_name(dataset))
    if (tensor->defined()) arrays[name] = to_dlpack(*tensor);
  return arrays;
}

void save(const PyDataset& dataset, const std::string& path) {
  const Hdf5Lock lock;
  save_dataset(dataset.data, path);
}

}  // namespace

void bind_dataset(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<PyDataset>(m, "Dataset")
      .def_static("load", load, "path"_a, "split"_a, "seed"_a)
      .def_static("generate", generate, "preset"_a, "seed"_a)
      .def_static("from_arrays", from_arrays, "arrays"_a, "num_nodes"_a, "num_features"_a, "num_classes"_a,
                  "name"_a)
      .def("arrays", arrays_of)
      .def("save", save, "path"_a)
      .def_prop_ro("name", [](const PyDataset& d) { return d.data.name; })
      .def_prop_ro("num_nodes", [](const PyDataset& d) { return d.data.num_nodes; })
      .def_prop_ro("num_edges", [](const PyDataset& d) { return d.data.num_edges(); })
      .def_prop_ro("num_features", [](const PyDataset& d) { return d.data.num_features; })
      .def_prop_ro("num_graphs", [](const PyDataset& d) { return d.data.num_graphs(); })
      .def_prop_ro("num_splits", [](const PyDataset& d) { return d.data.splits.size(); })
      .def_prop_ro("num_classes", [](const PyDataset& d) { return d.data.num_classes; });
}

}  // namespace rodeo::python
