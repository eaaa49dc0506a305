#include <algorithm>
#include <numeric>

#include "datasets/degrees.h"
#include "datasets/import.h"
#include "ops/dense.h"

namespace rodeo {
namespace {

constexpr std::int64_t kLargestDegree = 255, kRandomColumns = 64;

/// Row i is 1 in column columns[i].
SparseFeatures indicators(std::vector<std::int32_t> columns) {
  std::vector<std::int64_t> indptr(columns.size() + 1);
  std::iota(indptr.begin(), indptr.end(), 0);
  const auto n = static_cast<std::int64_t>(columns.size());
  return {Tensor::from(indptr), Tensor::from(columns), Tensor::full({n}, 1)};
}

}  // namespace

void make_features(Dataset& dataset, std::string_view kind, std::int64_t columns_wanted) {
  const bool dense = kind == "random" || kind == "ones";
  check(dense || kind == "onehot" || kind == "degree",
        "--input-features must be degree, onehot, random or ones, got '", kind, "'");
  check(!dataset.has_features(), "--input-features ", kind, ": ", dataset.name, " has ", dataset.num_features,
        " features: make others only where there are none");
  if (dense) {
    dataset.num_features = kind == "ones" ? 1 : kRandomColumns;
    const Shape shape{dataset.num_nodes, dataset.num_features};
    dataset.x = kind == "ones" ? Tensor::full(shape, 1) : uniform(shape, -1, 1, Random(0).next());
    return;
  }
  std::vector<std::int32_t> columns(static_cast<std::size_t>(dataset.num_nodes), 0);
  if (kind == "onehot") {
    std::iota(columns.begin(), columns.end(), 0);
    dataset.num_features = dataset.num_nodes;
  } else {
    const Tensor edges = in_degrees(dataset);
    const auto* p = edges.data<std::int64_t>();
    const std::int64_t most = columns_wanted > 0 ? columns_wanted - 1 : kLargestDegree;
    std::int64_t largest = 0;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const std::int64_t degree = std::min(p[i], most);
      columns[i] = static_cast<std::int32_t>(degree);
      largest = std::max(largest, degree);
    }
    dataset.num_features = columns_wanted > 0 ? columns_wanted : largest + 1;
  }
  dataset.x_sparse = indicators(std::move(columns));
}

}  // namespace rodeo
