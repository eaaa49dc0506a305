#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "datasets/dataset.h"
#include "datasets/hdf5_file.h"

namespace rodeo {
namespace {

constexpr std::int64_t kMaxNodes = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kBlock = std::int64_t{1} << 22;  // elements read and checked at a time

// The smallest i in [0, n) for which bad(i), or n.
template <class Bad>
std::int64_t find_first(std::int64_t n, Bad&& bad) {
  std::int64_t first = n;
#pragma omp parallel for reduction(min : first)
  for (std::int64_t i = 0; i < n; ++i)
    if (bad(i)) first = std::min(first, i);
  return first;
}

Hdf5Array open(const Hdf5File& file, const char* name, bool floating, int rank, std::string_view rule) {
  Hdf5Array array = file.array(name);
  check(is_float(array.dtype()) == floating && array.shape().rank() == rank, array.where(), " must be ", rule,
        ", got ", array.dtype(), " ", array.shape());
  return array;
}

// Everything that says how many nodes there are has to say the same.
class NodeCount {
 public:
  bool known() const { return count_ >= 0; }
  std::int64_t limit() const { return known() ? count_ : kMaxNodes; }
  void agree(std::int64_t count, const std::string& who, std::string_view whose) {
    check(count >= 0 && count <= kMaxNodes, who, " says ", count, " nodes, outside [0, 2^31 - 1]");
    check(!known() || count == count_, who, " says ", count, " nodes, ", from_, " says ", count_);
    if (!known()) count_ = count, from_ = whose;
  }

 private:
  std::int64_t count_ = -1;
  std::string from_;
};

// A row of a matrix of ids, or a whole vector of them. They fit in 32 bits, as graphs have less than 2^31
// nodes.
Tensor read_ids(const Hdf5Array& array, std::int64_t row, std::int64_t limit) {
  const bool matrix = array.shape().rank() == 2;
  const std::int64_t count = array.shape()[-1];
  const Tensor ids = Tensor::empty({count}, DType::kI32);
  auto* to = ids.data<std::int32_t>();
  const auto read = [&]<class I>(I) {
    const Tensor block = Tensor::empty({std::min(kBlock, count)}, dtype_of<I>());
    const I* from = block.data<I>();
    for (std::int64_t begin = 0; begin < count; begin += kBlock) {
      const std::int64_t n = std::min(kBlock, count - begin);
      array.read(matrix ? Shape{row, begin} : Shape{begin}, block.slice(0, n));
      const std::int64_t bad = find_first(n, [&](std::int64_t i) {
        to[begin + i] = static_cast<std::int32_t>(from[i]);
        return from[i] < 0 || from[i] >= limit;
      });
      if (bad == n) continue;
      const std::string place = matrix ? str(row, ", ", begin + bad) : str(begin + bad);
      fail(array.where(), "[", place, "] is ", from[bad], ", outside [0, ", limit, ")");
    }
  };
  if (array.dtype() == DType::kI64)
    read(std::int64_t{});
  else
    read(std::int32_t{});
  return ids;
}

void read_csr(const Hdf5File& file, NodeCount& nodes, Dataset& out) {
  const Hdf5Array indptr = open(file, "indptr", false, 1, "integer [nodes + 1]");
  const Hdf5Array indices = open(file, "indices", false, 1, "integer [edges]");
  check(indptr.shape()[0] >= 1, indptr.where(), " must have nodes + 1 entries, got none");
  nodes.agree(indptr.shape()[0] - 1, indptr.where(), "/indptr");
  out.indptr = indptr.read(DType::kI64);
  const auto* p = out.indptr.data<std::int64_t>();
  const std::int64_t n = indptr.shape()[0] - 1;
  check(p[0] == 0, indptr.where(), " must start at 0, got ", p[0]);
  const std::int64_t falls = find_first(n, [&](std::int64_t i) { return p[i + 1] < p[i]; });
  check(falls == n, indptr.where(), " must not fall, but [", falls + 1, "] is ", p[std::min(falls + 1, n)],
        " after ", p[falls]);
  check(p[n] == indices.shape()[0], indptr.where(), " must end at the length of /indices, ",
        indices.shape()[0], ", got ", p[n]);
  out.indices = read_ids(indices, 0, nodes.limit());
}

void read_edges(const Hdf5File& file, NodeCount& nodes, Dataset& out) {
  const bool list = file.has("edge_index"), csr = file.has("indptr") || file.has("indices");
  check(list || csr, file.path(), ": /edge_index is missing, and so are /indptr and /indices");
  check(!list || !csr, file.path(), ": has its edges twice, in /edge_index and in /indptr and /indices");
  if (csr) {
    read_csr(file, nodes, out);
  } else {
    const Hdf5Array edges = open(file, "edge_index", false, 2, "integer [2, edges]");
    check(edges.shape()[0] == 2, edges.where(), " must be integer [2, edges], got ", edges.dtype(), " ",
          edges.shape());
    out.src = read_ids(edges, 0, nodes.limit());
    out.dst = read_ids(edges, 1, nodes.limit());
  }
  if (!nodes.known()) {
    std::int64_t largest = -1;
    for (const Tensor* ids : {&out.src, &out.dst}) {
      const auto* id = ids->data<std::int32_t>();
      for (std::int64_t e = 0; e < ids->numel(); ++e) largest = std::max<std::int64_t>(largest, id[e]);
    }
    nodes.agree(largest + 1, file.path(), "/edge_index");
  }
  out.num_nodes = nodes.limit();

  if (!file.has("edge_weight")) return;
  const Hdf5Array weight = open(file, "edge_weight", true, 1, "floating point [edges]");
  check(weight.shape()[0] == out.num_edges(), weight.where(), " must have a value for each of ",
        out.num_edges(), " edges, got ", weight.shape()[0]);
  out.edge_weight = weight.read(DType::kF32);
  const auto* w = out.edge_weight.data<float>();
  const std::int64_t bad = find_first(out.num_edges(), [&](std::int64_t i) { return !std::isfinite(w[i]); });
  check(bad == out.num_edges(), weight.where(), "[", bad, "] is not a finite float");
}

void read_features(const Hdf5Array& x, Dataset& out) {
  const std::int64_t rows = x.shape()[0], width = x.shape()[1];
  out.x = Tensor::empty(x.shape());
  const std::int64_t step = std::max<std::int64_t>(kBlock / std::max<std::int64_t>(width, 1), 1);
  for (std::int64_t begin = 0; begin < rows; begin += step) {
    const Tensor block = out.x.slice(begin, std::min(begin + step, rows));
    x.read({begin, 0}, block);
    const auto* v = block.data<float>();
    const std::int64_t bad = find_first(block.numel(), [&](std::int64_t i) { return !std::isfinite(v[i]); });
    if (bad < block.numel())
      fail(x.where(), "[", begin + bad / width, ", ", bad % width, "] is not a finite float");
  }
}

void read_labels(const Hdf5File& file, const Hdf5Array& y, Dataset& out) {
  out.y = y.read(DType::kI64);
  const std::int64_t n = out.y.numel();
  const auto* label = out.y.data<std::int64_t>();
  const std::int64_t largest = n == 0 ? -1 : *std::max_element(label, label + n);
  const std::optional<std::int64_t> claimed = file.integer("num_classes");
  check(!claimed || (*claimed >= 1 && *claimed <= kMaxNodes), file.path(),
        ": attribute num_classes must be in [1, 2^31 - 1], got ", claimed.value_or(0));
  check(largest < claimed.value_or(kMaxNodes), y.where(), "[", std::find(label, label + n, largest) - label,
        "] is ", largest, ", outside [0, ", claimed.value_or(kMaxNodes), ")");
  out.num_classes = claimed.value_or(largest + 1);
}

constexpr const char* kMasks[] = {"train_mask", "val_mask", "test_mask"};

Tensor nodes_of(const Hdf5Array& mask) {
  const std::vector<std::int64_t> member = mask.read(DType::kI64).to_vector<std::int64_t>();
  std::vector<std::int64_t> nodes;
  for (std::size_t i = 0; i < member.size(); ++i) {
    check(member[i] == 0 || member[i] == 1, mask.where(), "[", i, "] must be 0 or 1, got ", member[i]);
    if (member[i]) nodes.push_back(static_cast<std::int64_t>(i));
  }
  return Tensor::from(nodes);
}

// Disjoint, and with labels of classes that exist.
void check_split(const Hdf5File& file, const Dataset& dataset) {
  const Tensor* parts[] = {&dataset.split.train, &dataset.split.val, &dataset.split.test};
  std::vector<std::int8_t> taken(static_cast<std::size_t>(dataset.num_nodes), -1);
  for (int part = 0; part < 3; ++part)
    for (const std::int64_t node : parts[part]->to_vector<std::int64_t>()) {
      const int other = std::exchange(taken[node], static_cast<std::int8_t>(part));
      if (other >= 0)
        fail(file.path(), ": /", kMasks[other], " and /", kMasks[part], " both have node ", node);
      if (dataset.y.defined() && dataset.y.data<std::int64_t>()[node] < 0)
        fail(file.path(), ": /y[", node, "] is ", dataset.y.data<std::int64_t>()[node], ", outside [0, ",
             dataset.num_classes, "), and /", kMasks[part], " has node ", node);
    }
}

Hdf5Array open_mask(const Hdf5File& file, const char* name) {
  return open(file, name, false, 1, "integer or bool [nodes]");
}

void read_masks(const Hdf5File& file, Dataset& out) {
  Tensor* parts[] = {&out.split.train, &out.split.val, &out.split.test};
  for (int i = 0; i < 3; ++i) {
    check(file.has(kMasks[i]), file.path(), ": /", kMasks[i],
          " is missing: masks come for train, val and test");
    *parts[i] = nodes_of(open_mask(file, kMasks[i]));
  }
  check_split(file, out);
}

void check_trainable(const Hdf5File& file, const Dataset& dataset, const LoadOptions& options) {
  check(!options.features || dataset.num_features > 0, file.path(), ": /x must have at least one feature");
  const Tensor* parts[] = {&dataset.split.train, &dataset.split.val, &dataset.split.test};
  for (int i = 0; i < 3; ++i) {
    if (parts[i]->numel() > 0) continue;
    if (options.split.empty()) fail(file.path(), ": /", kMasks[i], " has no node");
    fail(file.path(), ": split ", options.split, " leaves no node for ",
         std::string_view(kMasks[i], std::string_view(kMasks[i]).find('_')));
  }
}

}  // namespace

Dataset load_dataset(const std::string& path, const LoadOptions& options) {
  const Hdf5File file(path);
  const bool training = options.need == Need::kTraining;
  const bool masked = options.split.empty() && std::any_of(std::begin(kMasks), std::end(kMasks),
                                                           [&](const char* name) { return file.has(name); });
  Dataset out;
  out.name = file.text("name").value_or(std::filesystem::path(path).stem().string());
  std::replace_if(
      out.name.begin(), out.name.end(), [](unsigned char c) { return std::iscntrl(c); }, ' ');

  // What is cheap to look at first: a file that contradicts itself is not read.
  NodeCount nodes;
  if (const auto claimed = file.integer("num_nodes"))
    nodes.agree(*claimed, file.path() + ": attribute num_nodes", "attribute num_nodes");
  std::optional<Hdf5Array> x, y;
  if (file.has("x")) {
    x = open(file, "x", true, 2, "floating point [nodes, features]");
    nodes.agree(x->shape()[0], x->where(), "/x");
    out.num_features = x->shape()[1];
  }
  if (file.has("y")) {
    y = open(file, "y", false, 1, "integer [nodes]");
    nodes.agree(y->shape()[0], y->where(), "/y");
  }
  if (masked)
    for (const char* name : kMasks) {
      if (!file.has(name)) continue;
      const Hdf5Array mask = open_mask(file, name);
      nodes.agree(mask.shape()[0], mask.where(), str("/", name));
    }
  check(x || !training || !options.features, path,
        ": /x is missing: training needs features [nodes, features]");
  check(y || !training, path, ": /y is missing: training needs labels [nodes]");
  check(y || options.split.empty(), path, ": /y is missing: split ", options.split,
        " is one of labelled nodes");
  check(masked || !training || !options.split.empty(), path,
        ": /train_mask is missing: training needs masks, or a split such as 60/20/20");

  read_edges(file, nodes, out);
  if (y) read_labels(file, *y, out);
  if (masked) read_masks(file, out);
  if (!options.split.empty()) out.split = random_split(out.y, options.split, options.seed);
  if (training) check_trainable(file, out, options);
  if (x && options.features) read_features(*x, out);
  return out;
}

}  // namespace rodeo
