/// The steps of load_dataset() and validate_dataset(). Private to them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/find_first.h"
#include "core/staging.h"
#include "datasets/dataset.h"
#include "datasets/hdf5/findings.h"
#include "datasets/hdf5_file.h"

namespace rodeo {

constexpr std::int64_t kSchemaVersion = 1;
constexpr std::int64_t kMaxNodes = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMaxSplits = 1000;
/// More classes need as many labels, so that a small file does not cause a model of gigabytes.
constexpr std::int64_t kMaxClasses = std::int64_t{1} << 16;
constexpr std::int64_t kBlock = std::int64_t{1} << 20;  // elements per read

/// Reads one file into one Dataset in several steps. A step throws Error for invalid data. With `findings`,
/// the error text is appended to it instead, and reading continues with the next step.
class DatasetReader {
 public:
  DatasetReader(const Hdf5File& file, const LoadOptions& options, std::vector<std::string>* findings);
  Dataset read();
  /// The edges of a relation, of a file that is its group: sources and targets, i32 [edges].
  std::pair<Tensor, Tensor> read_relation(std::int64_t sources, std::int64_t targets);

 private:
  struct Ids {
    Tensor values;  // i32, on options.device
    std::int64_t largest = -1;
  };

  template <class F>
  void step(F&& f) {
    collect(findings_, f);
  }

  /// Opens an array of integers, not of bools.
  Hdf5Array open_integers(const char* name, int rank, std::string_view rule) const;
  /// Opens an array of integers, bools or floats, which are all read as f32.
  Hdf5Array open_numbers(const char* name, int rank, std::string_view rule) const;
  Hdf5Array open_mask(const char* name) const;
  /// Records the number of nodes that an array or attribute implies. Throws Error if another one differs.
  void set_num_nodes(std::int64_t count, const std::string& where, std::string_view source);

  // Attributes and shapes first: contradictions are found before any array is read.
  void check_header();
  void check_feature_header();
  void check_mask_header();
  void check_required() const;
  void read_edges();
  void read_weights();
  void read_edge_features();
  void read_graph_set();
  void read_graph_labels();
  void read_graph_split();
  void check_graph_edges(const Hdf5Array& graph_ptr) const;
  void read_features();
  void read_sparse_features();
  Tensor read_labels(const Hdf5Array& array);
  Tensor read_label_matrix(const Hdf5Array& array);
  std::int64_t count_classes(const Hdf5Array& array, const Tensor& labels) const;
  Tensor read_targets(const Hdf5Array& array);
  void read_masks();
  void read_node_ids();
  void read_class_names();
  void read_node_names();
  void check_trainable() const;

  // Ids and floats are streamed to options.device. On the host each block is checked when it is read; on CUDA
  // the device checks the whole array.
  Ids read_ids(const Hdf5Array& array, std::int64_t row, std::optional<std::int64_t> limit) const;
  Ids read_ids_on_host(const Hdf5Array& array, std::int64_t row, std::int64_t limit) const;
  Tensor read_unchecked_ids(const Hdf5Array& array, std::int64_t row) const;
  Tensor read_indptr(const Hdf5Array& indptr, std::int64_t entries, std::string_view entries_name) const;
  void read_csr(const Hdf5Array& indptr, const Hdf5Array& indices);
  void read_csr_on_device(const Hdf5Array& indptr, const Hdf5Array& indices);
  void read_finite(const Hdf5Array& array, std::int64_t rows_per_block, const Tensor& out) const;
  Tensor read_floats(const Hdf5Array& array) const;
  Split read_split(std::int64_t column);
  void check_split(const Split& split, std::int64_t column);
  std::string mask_name(int part, std::int64_t column) const;

  const Hdf5File& file_;
  const LoadOptions& options_;
  std::vector<std::string>* findings_;
  Dataset out_;
  mutable StagingMemory staging_;

  std::int64_t nodes_ = -1;   // -1: not known yet
  std::string nodes_source_;  // the array or attribute that nodes_ comes from
  std::int64_t edges_ = -1;   // length of the edge array
  // Arrays whose headers are valid and agree. With findings, later checks use no other array.
  std::optional<Hdf5Array> x_, y_, masks_[3];
  bool sparse_ = false;          // features are CSR
  bool masked_ = false;          // the file has masks
  std::int64_t num_splits_ = 0;  // columns of the masks
  bool matrix_masks_ = false;    // masks are [nodes, splits]
  std::int64_t column_ = 0;      // mask column of the requested split
  bool random_ = false;          // options.split is percentages
};

}  // namespace rodeo
