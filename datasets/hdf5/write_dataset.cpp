#include "datasets/hdf5/write_dataset.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "core/quoting.h"

namespace rodeo::hdf5 {
namespace {

// u8 [nodes]; [nodes, splits] for several splits.
Tensor mask(const std::vector<Split>& splits, Tensor Split::*part, std::int64_t num_nodes) {
  const auto columns = static_cast<std::int64_t>(splits.size());
  const Tensor out = Tensor::zeros(columns == 1 ? Shape{num_nodes} : Shape{num_nodes, columns}, DType::kU8);
  for (std::int64_t s = 0; s < columns; ++s)
    for (const std::int64_t node : (splits[s].*part).to_vector<std::int64_t>())
      out.data<std::uint8_t>()[node * columns + s] = 1;
  return out;
}

// The names as lines of one text.
std::string lines_of(const std::vector<std::string>& names, std::int64_t count, const char* what) {
  check(static_cast<std::int64_t>(names.size()) == count, "[save_dataset] ", what, " must have ", count,
        " names, got ", names.size());
  std::string text;
  for (const std::string& name : names) {
    check(name.find_first_of(std::string_view("\n\0", 2)) == std::string::npos, "[save_dataset] ", what,
          ": '", printable(name), "' has a line break or a zero byte");
    text += (&name == names.data() ? "" : "\n") + name;
  }
  return text;
}

/// Labels, with -1 for missing ones of several.
Tensor signed_labels(const Tensor& labels) {
  if (!labels.defined() || labels.dtype() != DType::kU8) return labels;
  const auto* y = labels.data<std::uint8_t>();
  if (std::find(y, y + labels.numel(), Dataset::kMissingLabel) == y + labels.numel()) return labels;
  const Tensor out = Tensor::empty(labels.shape(), DType::kI32);
  std::transform(y, y + labels.numel(), out.data<std::int32_t>(),
                 [](std::uint8_t label) { return label == Dataset::kMissingLabel ? -1 : label; });
  return out;
}

}  // namespace

Hdf5Writer::Storage storage_of(std::int64_t bytes) {
  constexpr std::int64_t kCompressBelow = std::int64_t{32} << 20;  // gzip of larger arrays takes seconds
  return bytes < kCompressBelow ? Hdf5Writer::Storage::kCompressed : Hdf5Writer::Storage::kPlain;
}

void write_array(Hdf5Writer& file, const char* name, const Tensor& values) {
  if (values.defined()) file.write(name, values, storage_of(values.nbytes()));
}

void write_attributes(Hdf5Writer& file, const Dataset& dataset) {
  file.attribute("name", dataset.name);
  file.attribute("num_nodes", dataset.num_nodes);
  if (dataset.labels().defined()) file.attribute("num_classes", dataset.num_classes);
  if (dataset.has_features()) file.attribute("num_features", dataset.num_features);
  if (!dataset.class_names.empty())
    file.attribute("class_names", lines_of(dataset.class_names, dataset.num_classes, "class_names"));
}

void write_nodes(Hdf5Writer& file, const Dataset& dataset) {
  const auto write = [&](const char* name, const Tensor& values) { write_array(file, name, values); };
  write("x", dataset.x);
  write("x_indptr", dataset.x_sparse.indptr);
  write("x_indices", dataset.x_sparse.indices);
  write("x_data", dataset.x_sparse.data);
  write("y", signed_labels(dataset.y));
  write("node_id", dataset.node_id);
  if (!dataset.node_names.empty()) {
    const std::string text = lines_of(dataset.node_names, dataset.num_nodes, "node_names");
    write("node_names", Tensor::from(std::vector<std::uint8_t>(text.begin(), text.end())));
  }
  const auto write_graph_mask = [&](const char* name, Tensor Split::*part) {
    if ((dataset.graph_split.*part).defined())
      write(name, mask({dataset.graph_split}, part, dataset.num_graphs()));
  };
  write_graph_mask("graph_train_mask", &Split::train);
  write_graph_mask("graph_val_mask", &Split::val);
  write_graph_mask("graph_test_mask", &Split::test);
  const std::vector<Split> splits = dataset.splits.empty() ? std::vector{dataset.split} : dataset.splits;
  const auto write_mask = [&](const char* name, Tensor Split::*part) {
    if ((splits[0].*part).defined()) write(name, mask(splits, part, dataset.num_nodes));
  };
  write_mask("train_mask", &Split::train);
  write_mask("val_mask", &Split::val);
  write_mask("test_mask", &Split::test);
}

}  // namespace rodeo::hdf5

namespace rodeo {

void save_dataset(const Dataset& dataset, const std::string& path) {
  check(dataset.src.defined() != dataset.indptr.defined(), path,
        ": a dataset has either an edge list or a CSR");
  Hdf5Writer file(path);
  const auto write = [&](const char* name, const Tensor& values) { hdf5::write_array(file, name, values); };
  file.attribute("rodeo_schema", std::int64_t{1});
  hdf5::write_attributes(file, dataset);
  if (dataset.src.defined())
    file.write_rows("edge_index", {dataset.src, dataset.dst}, hdf5::storage_of(2 * dataset.src.nbytes()));
  write("indptr", dataset.indptr);
  write("indices", dataset.indices);
  write("edge_weight", dataset.edge_weight);
  write("edge_attr", dataset.edge_attr);
  write("graph_ptr", dataset.graph_ptr);
  write("graph_y", hdf5::signed_labels(dataset.graph_label));
  hdf5::write_nodes(file, dataset);
  file.commit();
}

}  // namespace rodeo
