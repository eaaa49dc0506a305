#include <algorithm>
#include <numeric>

#include "datasets/degrees.h"
#include "datasets/import.h"

namespace rodeo {
namespace {

constexpr std::int64_t kLargestDegree = 255;

/// Row i is 1 in column columns[i].
SparseFeatures indicators(std::vector<std::int32_t> columns) {
  std::vector<std::int64_t> indptr(columns.size() + 1);
  std::iota(indptr.begin(), indptr.end(), 0);
  const auto n = static_cast<std::int64_t>(columns.size());
  return {Tensor::from(indptr), Tensor::from(columns), Tensor::full({n}, 1)};
}

}  // namespace

void make_features(Dataset& dataset, std::string_view kind) {
  check(kind == "onehot" || kind == "degree", "--features must be onehot or degree, got '", kind, "'");
  check(!dataset.has_features(), "--features ", kind, ": ", dataset.name, " has ", dataset.num_features,
        " features: make others only where there are none");
  std::vector<std::int32_t> columns(static_cast<std::size_t>(dataset.num_nodes), 0);
  if (kind == "onehot") {
    std::iota(columns.begin(), columns.end(), 0);
    dataset.num_features = dataset.num_nodes;
  } else {
    const Tensor edges = in_degrees(dataset);
    const auto* p = edges.data<std::int64_t>();
    std::int64_t largest = 0;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const std::int64_t degree = std::min(p[i], kLargestDegree);
      columns[i] = static_cast<std::int32_t>(degree);
      largest = std::max(largest, degree);
    }
    dataset.num_features = largest + 1;
  }
  dataset.x_sparse = indicators(std::move(columns));
}

}  // namespace rodeo
