#include "tests/fuzz/dataset_input.h"

#include <unistd.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <type_traits>
#include <vector>

#include "core/error.h"
#include "datasets/hdf5/array_names.h"
#include "datasets/hdf5_writer.h"
#include "tests/datasets/parts.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/seeds.h"
#include "tests/support/hdf5_checksums.h"
#include "train/io/atomic_file.h"

namespace rodeo::fuzz {
namespace {

using Storage = Hdf5Writer::Storage;

/// The contents of a file before it is written.
struct Draft {
  std::map<std::string, Tensor> arrays;
  std::map<std::string, std::int64_t> integers;
  std::map<std::string, std::string> texts;
  bool is_hetero = false;  // names are "nodes/a/x": x in a group
};

/// Two node types and two relations.
Draft hetero_draft() {
  const test::Parts parts;
  Draft draft;
  draft.is_hetero = true;
  draft.arrays = {{"nodes/a/x", parts.x},
                  {"nodes/a/y", parts.y},
                  {"nodes/a/train_mask", parts.train_mask},
                  {"nodes/a/val_mask", parts.val_mask},
                  {"nodes/a/test_mask", parts.test_mask},
                  {"edges/a:r:b/edge_index", test::ids({0, 5, 2, 1, 0, 2}).reshape({2, 3})},
                  {"edges/b:q:b/edge_index", test::ids({0, 1, 2, 2}).reshape({2, 2})}};
  draft.integers = {{"rodeo_schema", 2}, {"nodes/a/num_nodes", 6}, {"nodes/b/num_nodes", 3}};
  draft.texts = {{"node_types", "a\nb"}, {"relations", "a:r:b\nb:q:b"}, {"target_type", "a"}};
  return draft;
}

Draft draft_of(std::uint64_t kind) {
  test::Parts parts;
  Draft draft;
  if (kind == 1) parts.use_csr();
  if (kind == 2) parts.y = test::flags({1, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 0}).reshape({6, 2});
  if (kind == 3) parts.use_edges_only();
  draft.arrays = {{"edge_index", parts.edge_index},
                  {"indptr", parts.indptr},
                  {"indices", parts.indices},
                  {"x", parts.x},
                  {"y", parts.y},
                  {"train_mask", parts.train_mask},
                  {"val_mask", parts.val_mask},
                  {"test_mask", parts.test_mask}};
  std::erase_if(draft.arrays, [](const auto& row) { return !row.second.defined(); });
  if (kind == 4) {
    draft.arrays.erase("x");
    draft.arrays["x_indptr"] = test::ids({0, 2, 2, 3, 5, 5, 6});
    draft.arrays["x_indices"] = test::ids({3, 0, 1, 2, 2, 0});
    draft.arrays["x_data"] = Tensor::full({6}, 2);
  }
  if (kind == 5) {
    draft.arrays["edge_weight"] = Tensor::full({5}, 0.5);
    draft.arrays["node_id"] = test::ids({5, 4, 3, 2, 1, 0});
    for (const char* mask : hdf5::kMasks) {
      const Tensor two = Tensor::zeros({6, 2}, DType::kU8);
      for (int i = 0; i < 6; ++i)
        two.data<std::uint8_t>()[2 * i] = draft.arrays[mask].data<std::uint8_t>()[i];
      draft.arrays[mask] = two;
    }
  }
  if (kind == 6) {  // a set of graphs with edge features
    for (const char* name : {"y", "train_mask", "val_mask", "test_mask"}) draft.arrays.erase(name);
    draft.arrays["edge_index"] = test::ids({0, 1, 3, 4, 5, 1, 0, 4, 5, 3}).reshape({2, 5});
    draft.arrays["edge_attr"] = Tensor::full({5, 3}, 0.5);
    draft.arrays["graph_ptr"] = test::ids({0, 2, 3, 6});
    draft.arrays["graph_y"] = test::ids({0, 2, 1});
  }
  if (kind == 7) {  // a split of the edges
    draft.arrays["edge_attr"] = Tensor::full({5, 2}, -1);
    draft.arrays["val_edges"] = test::ids({1, 2}).reshape({2, 1});
    draft.arrays["test_edges"] = test::ids({3, 0, 4, 1}).reshape({2, 2});
    draft.arrays["val_negative_edges"] = test::ids({5, 0}).reshape({2, 1});
    draft.arrays["test_negative_targets"] = test::ids({5, 3, 0, 5}).reshape({2, 2});
  }
  if (kind == 8) draft.arrays["y"] = Tensor::full({6}, 1.5);  // numbers: regression
  if (kind != 2 && kind != 8) draft.integers["num_classes"] = 3;
  draft.integers["rodeo_schema"] = 1;
  draft.texts["name"] = "draft";
  return draft;
}

const std::vector<std::int64_t> kIntegers{
    -1, 0, 1, 2, 3, 5, 6, 7, 1000, 2147483647, 1LL << 31, 1LL << 32, 1LL << 40, 1LL << 62, -(1LL << 31)};
const std::vector<std::string> kNames(std::begin(hdf5::kArrays), std::end(hdf5::kArrays));
const std::vector<std::string> kAttributes{"num_nodes", "num_features", "num_classes", "rodeo_schema",
                                           "name"};
const std::vector<std::string> kHeteroAttributes{
    "rodeo_schema",      "node_types",        "relations",          "target_type",
    "nodes/a/num_nodes", "nodes/b/num_nodes", "nodes/a/num_classes"};
const std::vector<std::string> kLines{"a", "b",   "a\nb\na", "a:r:b", "a:r:b\na:r:b",
                                      "c", "a:r", "\n",      ":",     "a/x\nb"};

/// One element becomes a boundary value.
void change_value(Tensor& array, Draws& draws) {
  if (array.numel() == 0) return;
  const auto at = static_cast<std::int64_t>(draws.below(static_cast<std::uint64_t>(array.numel())));
  const Tensor values =
      is_float(array.dtype()) ? array.to(DType::kF64).clone() : array.to(DType::kI64).clone();
  if (is_float(array.dtype())) {
    constexpr double kLarge = std::numeric_limits<double>::max();
    static const std::vector<double> kFloats{0,
                                             -1,
                                             kLarge,
                                             -kLarge,
                                             1e-320,
                                             std::numeric_limits<double>::infinity(),
                                             std::numeric_limits<double>::quiet_NaN()};
    values.data<double>()[at] = draws.of(kFloats);
  } else {
    values.data<std::int64_t>()[at] = draws.of(kIntegers);
  }
  array = draws.once_in(3) ? values : values.to(array.dtype());  // some values only fit in the wide type
}

/// Another number of elements, by repeating or dropping them.
Tensor resized(const Tensor& array, std::int64_t count) {
  if (array.numel() == 0) return Tensor::zeros({count}, array.dtype());
  const auto width = static_cast<std::int64_t>(size_of(array.dtype()));
  const Tensor out = Tensor::empty({count}, array.dtype());
  const auto* from = static_cast<const char*>(array.raw());
  for (std::int64_t i = 0; i < count; ++i)
    std::copy_n(from + i % array.numel() * width, width, static_cast<char*>(out.raw()) + i * width);
  return out;
}

void change_shape(Tensor& array, Draws& draws) {
  static const std::vector<std::int64_t> kSizes{0, 1, 2, 5, 6, 7, 12, 4000};
  if (array.rank() == 2 && draws.below(2)) {  // another number of rows or columns
    constexpr std::int64_t kMost = 40000;     // elements: larger files only take time
    const std::int64_t columns = draws.below(2) ? array.dim(1) : draws.of(kSizes);
    const std::int64_t rows = std::min(draws.of(kSizes), kMost / std::max<std::int64_t>(columns, 1));
    array = resized(array, rows * columns).reshape({rows, columns});
    return;
  }
  const std::int64_t count =
      draws.below(2) ? draws.of(kSizes) : array.numel() + static_cast<std::int64_t>(draws.below(3)) - 1;
  array = resized(array, std::max<std::int64_t>(count, 0));
  if (draws.once_in(3)) array = array.reshape({array.numel(), 1});
}

void change(Draft& draft, Draws& draws) {
  static const std::vector<DType> kTypes{DType::kF64, DType::kF32, DType::kF16, DType::kBF16,
                                         DType::kI64, DType::kI32, DType::kU8};
  const std::uint64_t choice = draws.below(12);
  if (choice < 2) {
    const std::string& name = draws.of(draft.is_hetero ? kHeteroAttributes : kAttributes);
    draft.integers.erase(name), draft.texts.erase(name);
    if (draws.once_in(6))
      draft.texts[name] = draws.below(2) ? "line\nline \x1b[2J" : "";
    else if (draft.is_hetero && draws.below(2))
      draft.texts[name] = draws.of(kLines);
    else if (!draws.once_in(4))
      draft.integers[name] = draws.of(kIntegers);
    return;
  }
  if (draft.arrays.empty()) return;
  const auto row =
      std::next(draft.arrays.begin(), static_cast<std::ptrdiff_t>(draws.below(draft.arrays.size())));
  Tensor& array = row->second;
  switch (choice) {
    case 2:
      draft.arrays.erase(row);
      break;
    case 3:
      draft.arrays.insert_or_assign((draft.is_hetero ? "nodes/b/" : "") + draws.of(kNames),
                                    array);  // doubled
      break;
    case 4:
      array = array.to(draws.of(kTypes));
      break;
    case 5:
    case 6:
    case 7:
      change_shape(array, draws);
      break;
    default:
      change_value(array, draws);
  }
}

std::string written(const Draft& draft, Draws& draws) {
  static const test::TempDir dir;
  const std::string path = dir / ("draft" + std::to_string(::getpid()) + ".h5");
  Hdf5Writer file(path);
  std::set<std::string> groups;
  const auto group_of = [](const std::string& name) { return name.substr(0, name.rfind('/') + 1); };
  const auto each = [&](auto&& visit) {
    for (const auto& [name, array] : draft.arrays) visit(name, array);
    for (const auto& [name, value] : draft.integers) visit(name, value);
    for (const auto& [name, value] : draft.texts) visit(name, value);
  };
  each([&](const std::string& name, const auto&) { groups.insert(group_of(name)); });
  for (const std::string& group : groups) {  // the first is the root
    if (!group.empty()) file.enter(group.substr(0, group.size() - 1));
    each([&](const std::string& name, const auto& value) {
      if (group_of(name) != group) return;
      const std::string own = name.substr(group.size());
      if constexpr (std::is_same_v<std::decay_t<decltype(value)>, Tensor>)
        file.write(own, value, draws.below(2) ? Storage::kPlain : Storage::kCompressed);
      else
        file.attribute(own, value);
    });
  }
  file.commit();
  constexpr std::int64_t kMost = 1 << 28;
  return read_file(path, kMost);
}

std::string changed(Draft draft, Draws& draws) {
  const std::uint64_t changes = 1 + draws.below(4);
  for (std::uint64_t i = 0; i < changes; ++i) change(draft, draws);
  return written(draft, draws);
}

}  // namespace

std::string dataset_input(std::uint64_t seed, std::uint64_t number) {
  constexpr std::uint64_t kKinds = 9;
  Draws draws(seed, number);
  if (number % 2 == 0) return changed(draft_of(draws.below(kKinds)), draws);
  static const std::vector<Seed> all = [] {
    const test::TempDir dir;
    return seeds(dir / ".");
  }();
  const Seed& chosen = draws.of(all);
  std::string bytes = mutate_bytes(chosen.bytes, draws);
  test::refit_checksums(chosen.checksums, bytes);
  return bytes;
}

std::string hetero_input(std::uint64_t seed, std::uint64_t number) {
  Draws draws(seed, number);
  if (number % 2 == 0) return changed(hetero_draft(), draws);
  return mutate_bytes(written(hetero_draft(), draws), draws);
}

}  // namespace rodeo::fuzz
