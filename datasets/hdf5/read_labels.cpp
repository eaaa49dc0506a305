#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "core/text.h"
#include "datasets/hdf5/array_names.h"
#include "datasets/hdf5/dataset_reader.h"

namespace rodeo {

using hdf5::kMasks;

std::string DatasetReader::mask_name(int part, std::int64_t column) const {
  return matrix_masks_ ? str("/", kMasks[part], "[:, ", column, "]") : str("/", kMasks[part]);
}

Hdf5Array DatasetReader::open_mask(const char* name) const {
  Hdf5Array mask = file_.array(name);
  check(!is_float(mask.dtype()) && (mask.shape().rank() == 1 || mask.shape().rank() == 2), mask.where(),
        " must be integer or bool ",
        std::string_view(name).starts_with("graph") ? "[graphs]" : "[nodes] or [nodes, splits]", ", got ",
        mask.dtype(), " ", mask.shape());
  return mask;
}

void DatasetReader::check_mask_header() {
  const std::string& split = options_.split;
  const auto [end, error] = std::from_chars(split.data(), split.data() + split.size(), column_);
  const bool numbered = !split.empty() && error == std::errc{} && end == split.data() + split.size();
  random_ = !split.empty() && !numbered;
  if (random_) return;
  bool first = true;
  for (int i = 0; i < 3; ++i)
    step([&] {
      if (!file_.has(kMasks[i])) return;
      masked_ = true;
      const Hdf5Array mask = open_mask(kMasks[i]);
      set_num_nodes(mask.shape()[0], mask.where(), str("/", kMasks[i]));
      const bool matrix = mask.shape().rank() == 2;
      const std::int64_t splits = matrix ? mask.shape()[1] : 1;
      check(splits >= 1 && splits <= kMaxSplits, mask.where(), " must have 1 to ", kMaxSplits,
            " splits, got ", splits);
      check(first || (splits == num_splits_ && matrix == matrix_masks_), mask.where(), " has ", splits,
            " splits", matrix ? " in a matrix" : "", ", another mask has ", num_splits_);
      first = false, num_splits_ = splits, matrix_masks_ = matrix;
      masks_[i] = mask;
    });
  check(!masked_ || !numbered || (column_ >= 0 && column_ < num_splits_), file_.path(), ": split ", split,
        " is outside [0, ", num_splits_, "), the splits of /train_mask");
}

/// The number of classes of i64 labels. Throws Error for labels outside, and for more than the labels allow.
std::int64_t DatasetReader::count_classes(const Hdf5Array& array, const Tensor& labels) const {
  const std::int64_t n = labels.numel();
  const auto* label = labels.data<std::int64_t>();
  const std::int64_t largest = n == 0 ? -1 : *std::max_element(label, label + n);
  const std::optional<std::int64_t> claimed = file_.integer("num_classes");
  check(!claimed || (*claimed >= 1 && *claimed <= kMaxNodes), file_.path(),
        ": attribute num_classes must be in [1, 2^31 - 1], got ", claimed.value_or(0));
  const std::int64_t most = std::max(kMaxClasses, n);
  check(claimed.value_or(0) <= most, file_.path(), ": attribute num_classes is ", claimed.value_or(0),
        " for ", n, " labels, more than ", most);
  check(largest < claimed.value_or(most), array.where(), "[", std::find(label, label + n, largest) - label,
        "] is ", largest, ", outside [0, ", claimed.value_or(most), ")",
        claimed ? "" : ": number the classes 0, 1, 2 and so on");
  return claimed.value_or(largest + 1);
}

Tensor DatasetReader::read_labels(const Hdf5Array& array) {
  if (is_float(array.dtype())) return read_targets(array);
  if (array.shape().rank() == 2) return read_label_matrix(array);
  const Tensor y = array.read(DType::kI64);
  out_.num_classes = count_classes(array, y);
  return y;
}

Tensor DatasetReader::read_label_matrix(const Hdf5Array& array) {
  const std::int64_t classes = array.shape()[1];
  const std::optional<std::int64_t> claimed = file_.integer("num_classes");
  check(classes >= 1, array.where(), " must have at least one class");
  check(!claimed || *claimed == classes, array.where(), " has ", classes,
        " classes, attribute num_classes is ", claimed.value_or(0));
  // Read without narrowing, so that the conversion cannot turn other values into 0 or 1.
  const Tensor wide =
      array.dtype() == DType::kU8 ? array.read(DType::kU8) : array.read(DType::kI64).to(DType::kI64);
  const Tensor out = Tensor::empty(wide.shape(), DType::kU8);
  dispatch_all(wide.dtype(), [&]<class T>(T) {
    if constexpr (std::is_integral_v<T>) {
      const T* v = wide.data<T>();
      const std::int64_t bad =
          find_first(wide.numel(), [&](std::int64_t i) { return v[i] > T{1} || std::int64_t{v[i]} < -1; });
      if (bad < wide.numel())
        fail(array.where(), "[", bad / classes, ", ", bad % classes,
             "] must be 0, 1, or -1 where it is not known, got ", static_cast<std::int64_t>(v[bad]));
      std::transform(v, v + wide.numel(), out.data<std::uint8_t>(), [](T label) {
        return std::int64_t{label} < 0 ? Dataset::kMissingLabel : static_cast<std::uint8_t>(label);
      });
    }
  });
  out_.num_classes = classes;
  return out;
}

Tensor DatasetReader::read_targets(const Hdf5Array& array) {
  const Tensor y = array.read(DType::kF32);
  const std::int64_t targets = y.rank() == 2 ? y.dim(1) : 1;
  const std::optional<std::int64_t> claimed = file_.integer("num_classes");
  check(targets >= 1, array.where(), " must have at least one target");
  check(!claimed || *claimed == targets, array.where(), " is float, so it has ", count_of(targets, "target"),
        " of regression, and attribute num_classes is ", claimed.value_or(0), ": classes must be integers");
  const auto* value = y.data<float>();
  const std::int64_t bad = find_first(y.numel(), [&](std::int64_t i) { return std::isinf(value[i]); });
  if (bad < y.numel())
    fail(array.where(), "[", bad / targets, y.rank() == 2 ? str(", ", bad % targets) : "", "] is ",
         value[bad], ": targets must be finite, or NaN where they are missing");
  out_.num_classes = targets;
  return y.reshape({y.dim(0), targets});
}

Split DatasetReader::read_split(std::int64_t column) {
  Split split;
  Tensor* parts[] = {&split.train, &split.val, &split.test};
  for (int i = 0; i < 3; ++i)
    step([&] {
      check(file_.has(kMasks[i]), file_.path(), ": /", kMasks[i],
            " is missing: train, val and test masks are all required");
      if (!masks_[i]) return;  // its header is a finding
      const Hdf5Array& mask = *masks_[i];
      const std::int64_t nodes = mask.shape()[0];
      const Tensor members = Tensor::empty({nodes}, DType::kI64);
      if (matrix_masks_)
        mask.read({0, column}, {nodes, 1}, DType::kI64, members.raw());
      else
        mask.read({0}, members);
      const auto* member = members.data<std::int64_t>();
      std::vector<std::int64_t> chosen;
      for (std::int64_t node = 0; node < nodes; ++node) {
        if (member[node] != 0 && member[node] != 1)
          fail(mask.where(), "[", node, matrix_masks_ ? str(", ", column) : "", "] must be 0 or 1, got ",
               member[node]);
        if (member[node]) chosen.push_back(node);
      }
      *parts[i] = Tensor::from(chosen);
    });
  return split;
}

// The parts must be disjoint, and all of their nodes labelled.
void DatasetReader::check_split(const Split& split, std::int64_t column) {
  const auto parts = split.sets();
  const std::int64_t* label = out_.y.defined() && out_.y.rank() == 1 ? out_.y.data<std::int64_t>() : nullptr;
  std::vector<std::int8_t> taken(static_cast<std::size_t>(out_.num_nodes), -1);
  for (int part = 0; part < 3; ++part)
    step([&] {
      if (!parts[part].defined()) return;
      for (const std::int64_t node : parts[part].to_vector<std::int64_t>()) {
        const int other = std::exchange(taken[node], static_cast<std::int8_t>(part));
        if (other >= 0)
          fail(file_.path(), ": ", mask_name(other, column), " and ", mask_name(part, column),
               " both have node ", node);
        if (label && label[node] < 0)
          fail(file_.path(), ": /y[", node, "] is ", label[node], ", outside [0, ", out_.num_classes,
               "), and ", mask_name(part, column), " has node ", node);
      }
    });
}

void DatasetReader::read_masks() {
  if (!masked_ || num_splits_ == 0) return;
  const std::int64_t first = options_.all_splits ? 0 : column_;
  const std::int64_t end = options_.all_splits ? num_splits_ : column_ + 1;
  for (std::int64_t column = first; column < end; ++column) {
    const Split split = read_split(column);
    check_split(split, column);
    if (column == column_) out_.split = split;
    if (options_.all_splits) out_.splits.push_back(split);
  }
}

void DatasetReader::read_node_ids() {
  if (!file_.has("node_id")) return;
  const Hdf5Array ids = open_integers("node_id", 1, "integer [nodes]");
  check(ids.shape()[0] == nodes_, ids.where(), " must have a value for each of ", nodes_, " nodes, got ",
        ids.shape()[0]);
  out_.node_id = ids.read(DType::kI64);
}

}  // namespace rodeo
