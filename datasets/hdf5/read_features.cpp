#include "datasets/hdf5/dataset_reader.h"

namespace rodeo {

void DatasetReader::check_feature_header() {
  const bool dense = file_.has("x");
  sparse_ = file_.has("x_indptr") || file_.has("x_indices") || file_.has("x_data");
  step([&] {
    check(!dense || !sparse_, file_.path(),
          ": has two sets of features, /x and /x_indptr with /x_indices and /x_data");
  });
  step([&] {
    const std::optional<std::int64_t> claimed = file_.integer("num_features");
    check(!claimed || (*claimed >= 0 && *claimed <= kMaxNodes), file_.path(),
          ": attribute num_features must be in [0, 2^31 - 1], got ", claimed.value_or(0));
    out_.num_features = claimed.value_or(-1);
  });
  if (dense)
    step([&] {
      Hdf5Array x = open_numbers("x", 2, "numbers [nodes, features]");
      set_num_nodes(x.shape()[0], x.where(), "/x");
      check(out_.num_features < 0 || out_.num_features == x.shape()[1], x.where(), " has ", x.shape()[1],
            " features, attribute num_features is ", out_.num_features);
      out_.num_features = x.shape()[1];
      x_ = x;
    });
  if (sparse_)
    step([&] {
      const Hdf5Array indptr = open_integers("x_indptr", 1, "integer [nodes + 1]");
      check(indptr.shape()[0] >= 1, indptr.where(), " must have nodes + 1 entries, got none");
      set_num_nodes(indptr.shape()[0] - 1, indptr.where(), "/x_indptr");
      if (out_.num_features >= 0 || options_.features) return;
      std::int64_t largest = -1;  // the number of features is needed even if they are not loaded
      largest = read_ids(open_integers("x_indices", 1, "integer [entries]"), 0, std::nullopt).largest;
      out_.num_features = largest + 1;
    });
  if (!dense && !sparse_) out_.num_features = 0;
}

void DatasetReader::read_features() {
  if (!x_) return;
  const Hdf5Array& x = *x_;
  const std::int64_t width = x.shape()[1];
  std::int64_t step = std::max<std::int64_t>(kBlock / std::max<std::int64_t>(width, 1), 1);
  // Read whole chunks, so that no chunk is decompressed twice, unless they are so large that the block would
  // take too much memory.
  constexpr std::int64_t kLargest = 16 * kBlock;
  const std::int64_t chunk = x.chunk_rows(), whole = (step + chunk - 1) / chunk * chunk;
  if (whole <= kLargest / std::max<std::int64_t>(width, 1)) step = whole;
  out_.x = Tensor::empty(x.shape(), DType::kF32, options_.device);
  read_finite(x, step, out_.x);
}

void DatasetReader::read_sparse_features() {
  const Hdf5Array indptr = open_integers("x_indptr", 1, "integer [nodes + 1]");
  const Hdf5Array indices = open_integers("x_indices", 1, "integer [entries]");
  const Hdf5Array data = open_numbers("x_data", 1, "numbers [entries]");
  check(data.shape()[0] == indices.shape()[0], data.where(), " must have a value for each of ",
        indices.shape()[0], " entries of /x_indices, got ", data.shape()[0]);
  check(indptr.shape()[0] == nodes_ + 1, indptr.where(), " must have nodes + 1 entries, got ",
        indptr.shape()[0]);
  check(nodes_ >= 0, indptr.where(), " must have nodes + 1 entries, got none");
  SparseFeatures x;
  step([&] { x.indptr = read_indptr(indptr, indices.shape()[0], "/x_indices").to(options_.device); });
  step([&] {
    const bool known = out_.num_features >= 0;
    const Ids ids = read_ids(indices, 0, known ? std::optional(out_.num_features) : std::nullopt);
    x.indices = ids.values;
    if (!known) out_.num_features = ids.largest + 1;
  });
  step([&] { x.data = read_floats(data); });
  out_.x_sparse = x;
}

}  // namespace rodeo
