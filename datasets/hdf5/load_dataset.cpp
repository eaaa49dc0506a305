#include <algorithm>
#include <charconv>
#include <filesystem>

#include "core/quoting.h"
#include "datasets/edge_split.h"
#include "datasets/hdf5/dataset_reader.h"
#include "datasets/hdf5/hetero_names.h"

namespace rodeo {

DatasetReader::DatasetReader(const Hdf5File& file, const LoadOptions& options,
                             std::vector<std::string>* findings)
    : file_(file), options_(options), findings_(findings) {}

Hdf5Array DatasetReader::open_integers(const char* name, int rank, std::string_view rule) const {
  Hdf5Array array = file_.array(name);
  check(!is_float(array.dtype()) && !array.is_bool() && array.shape().rank() == rank, array.where(),
        " must be ", rule, ", got ", array.is_bool() ? "bool" : str(array.dtype()), " ", array.shape());
  return array;
}

Hdf5Array DatasetReader::open_numbers(const char* name, int rank, std::string_view rule) const {
  Hdf5Array array = file_.array(name);
  check(array.shape().rank() == rank, array.where(), " must be ", rule, ", got ", array.dtype(), " ",
        array.shape());
  return array;
}

void DatasetReader::set_num_nodes(std::int64_t count, const std::string& where, std::string_view source) {
  check(count >= 0 && count <= kMaxNodes, where, " implies ", count, " nodes, outside [0, 2^31 - 1]");
  check(nodes_ < 0 || count == nodes_, where, " implies ", count, " nodes, ", nodes_source_, " implies ",
        nodes_);
  if (nodes_ < 0) nodes_ = count, nodes_source_ = source;
}

void DatasetReader::check_header() {
  step([&] {
    const std::int64_t version = file_.integer("rodeo_schema").value_or(kSchemaVersion);
    check(version >= 1, file_.path(), ": attribute rodeo_schema must be at least 1, got ", version);
    check(version != hdf5::kHeteroSchema, file_.path(),
          ": holds node types and relations, and one type of nodes was expected: train on it with "
          "rodeo_train --model rgcn, rgat, hgt or hetero-sage");
    check(version <= kSchemaVersion, file_.path(), ": attribute rodeo_schema is ", version,
          ", newer than version ", hdf5::kHeteroSchema, " of this reader");
  });
  out_.name = std::filesystem::path(file_.path()).stem().string();
  step([&] { out_.name = file_.text("name").value_or(out_.name); });
  out_.name = printable(out_.name);
  step([&] {
    if (const auto claimed = file_.integer("num_nodes"))
      set_num_nodes(*claimed, file_.path() + ": attribute num_nodes", "attribute num_nodes");
  });
  check_feature_header();
  step([&] {
    if (!file_.has("y")) return;
    Hdf5Array y = file_.array("y");
    check(y.shape().rank() == 1 || y.shape().rank() == 2, y.where(),
          " must be integer or float [nodes], [nodes, classes] or [nodes, targets], got ", y.dtype(), " ",
          y.shape());
    set_num_nodes(y.shape()[0], y.where(), "/y");
    y_ = y;
  });
  check_mask_header();
}

void DatasetReader::check_required() const {
  const bool training = options_.need == Need::kTraining, features = x_ || sparse_;
  const std::string& path = file_.path();
  check(features || !training || !options_.features, path,
        ": /x is missing: training needs features [nodes, features]");
  check(y_ || !training, path, ": /y is missing: training needs labels [nodes]",
        file_.has("graph_ptr") ? "; for a set of graphs give --task graph" : "");
  check(y_ || !random_, path, ": /y is missing: split ", options_.split, " needs labels");
  check(masked_ || random_ || (!training && options_.split.empty()), path,
        ": /train_mask is missing: ", training ? "training needs masks" : "a split by number needs masks",
        ", or a split such as 60/20/20");
}

void DatasetReader::check_trainable() const {
  constexpr std::string_view kNames[] = {"train", "val", "test"};
  for (int i = 0; i < 3; ++i) {
    if (out_.split.sizes()[i] > 0) continue;
    if (!random_) fail(file_.path(), ": ", mask_name(i, column_), " has no node");
    const auto none = [](const Tensor& y) {
      const std::vector<std::int64_t> labels = y.to_vector<std::int64_t>();
      return std::all_of(labels.begin(), labels.end(), [](std::int64_t label) { return label < 0; });
    };
    const bool unlabelled = out_.y.dtype() == DType::kI64 && out_.y.rank() == 1 && none(out_.y);
    fail(file_.path(), ": split ", options_.split, " leaves no node for ", kNames[i],
         unlabelled ? ", because /y is negative for all nodes, which means unlabelled" : "");
  }
}

Dataset DatasetReader::read() {
  check_header();
  step([&] { check_required(); });
  if (options_.edges) {
    read_edges();
    step([&] { read_weights(); });
    step([&] { read_edge_features(); });
  }
  out_.num_nodes = std::max<std::int64_t>(nodes_, 0);
  if (y_) step([&] { out_.y = read_labels(*y_); });
  read_masks();
  if (random_ && y_) out_.split = random_split(out_.y, options_.split, options_.seed);
  if (options_.need == Need::kTraining) check_trainable();
  if (options_.features) step([&] { sparse_ ? read_sparse_features() : read_features(); });
  out_.num_features = std::max<std::int64_t>(out_.num_features, 0);
  if (options_.need == Need::kTraining && options_.features)
    check(out_.num_features > 0, file_.path(), ": /x must have at least one feature");
  if (options_.edges) step([&] { read_graph_set(); });
  step([&] { read_node_ids(); });
  step([&] { read_class_names(); });
  if (options_.need != Need::kTraining) step([&] { read_node_names(); });
  return std::move(out_);
}

Dataset load_dataset(const std::string& path, const LoadOptions& options) {
  return DatasetReader(Hdf5File(path), options, nullptr).read();
}

std::vector<std::string> validate_dataset(const std::string& path, std::vector<std::string>* warnings) {
  std::vector<std::string> findings;
  const Hdf5File file(path);
  const LoadOptions options{.all_splits = true};
  collect(&findings, [&] {
    const Dataset dataset = DatasetReader(file, options, &findings).read();
    if (!findings.empty()) return;
    const EdgeSplitSizes split = edge_split_sizes(path, dataset, &findings);
    if (warnings && split.in_both > 0) warnings->push_back(shared_edges_text(split.in_both, split.val));
  });
  return findings;
}

}  // namespace rodeo
