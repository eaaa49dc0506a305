#include "train/task/feature_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "ops/dense_csr.h"
#include "ops/grad_clip.h"
#include "train/task/model_registry.h"

namespace rodeo {
namespace {

/// The density of a sample of rows: converting all of x to CSR could take more memory than x.
double sampled_density(const Tensor& x) {
  constexpr std::int64_t kParts = 16, kRows = 64;
  const std::int64_t rows = x.dim(0);
  std::int64_t entries = 0, elements = 0;
  for (std::int64_t part = 0; part < kParts; ++part) {
    const std::int64_t begin = rows * part / kParts,
                       end = std::min(rows * (part + 1) / kParts, begin + kRows);
    if (begin == end) continue;
    const Tensor sample = x.slice(begin, end);
    entries += dense_to_csr(sample).adj.num_edges();
    elements += sample.numel();
  }
  return elements == 0 ? 1 : static_cast<double>(entries) / static_cast<double>(elements);
}

/// Whether an epoch that propagates X W is cheaper than one that multiplies a kept S^K X, which is dense.
bool propagates_fast(const Dataset& dataset, double entries, const TrainOptions& options) {
  constexpr double kSparsePerDense = 8;  // time of a multiplication in a sparse product, in a dense one 1
  const double sums = options.hops * static_cast<double>(dataset.num_edges() + dataset.num_nodes);
  return kSparsePerDense * (sums + entries) <
         static_cast<double>(dataset.num_nodes) * static_cast<double>(dataset.num_features);
}

bool should_use_sparse(const Dataset& dataset, const TrainOptions& options, Device device) {
  if (options.features != FeatureForm::kAuto) return options.features == FeatureForm::kSparse;
  if (!dense_features_reason(options).empty()) return false;
  const double elements = static_cast<double>(dataset.num_nodes) * static_cast<double>(dataset.num_features);
  const double entries = dataset.x_sparse.defined() ? static_cast<double>(dataset.x_sparse.indices.numel())
                                                    : elements * sampled_density(dataset.x);
  if (traits_of(options).keeps_propagated && !propagates_fast(dataset, entries, options)) return false;
  return dataset.x_sparse.defined() ||
         entries < elements * (device.is_cuda() ? kSparseBelowOnCuda : kSparseBelowOnCpu);
}

Features as_sparse(Dataset& dataset, Device device) {
  if (!dataset.x_sparse.defined()) {
    const WeightedAdjacency entries = dense_to_csr(std::exchange(dataset.x, {}).to(device));
    return sparse_features(entries.adj, entries.weight);
  }
  const SparseFeatures from = std::exchange(dataset.x_sparse, {});
  const Csr entries{from.indptr.numel() - 1, dataset.num_features, from.indptr.to(device),
                    from.indices.to(DType::kI32).to(device)};
  return sparse_features(Adjacency::trusted(entries), from.data.to(device));
}

}  // namespace

FeatureForm choose_feature_form(const Dataset& dataset, const TrainOptions& options, Device device) {
  if (!should_use_sparse(dataset, options, device)) return FeatureForm::kDense;
  const std::string reason = dense_features_reason(options);
  check(reason.empty(), "--features sparse: ", reason);
  return FeatureForm::kSparse;
}

ChosenFeatures choose_features(Dataset& dataset, const TrainOptions& options, Device device) {
  return convert_features(dataset, options, choose_feature_form(dataset, options, device), device);
}

ChosenFeatures convert_features(Dataset& dataset, const TrainOptions& options, FeatureForm form,
                                Device device) {
  ChosenFeatures chosen;
  const std::string reason = dense_features_reason(options);
  if (form == FeatureForm::kSparse) {
    chosen.x = as_sparse(dataset, device);
    const Shape shape = chosen.x.shape();
    const auto size = static_cast<double>(std::max<std::int64_t>(shape.numel(), 1));
    chosen.text =
        fmt::format("sparse, {:.3g} % of {} x {} are not zero",
                    100 * static_cast<double>(chosen.x.values().numel()) / size, shape[0], shape[1]);
  } else {
    chosen.x = Features(dense_features(dataset).to(device));
    dataset.x = {};
    dataset.x_sparse = {};
    chosen.text = fmt::format("dense, {} x {}", chosen.x.dim(0), chosen.x.dim(1));
    if (options.features == FeatureForm::kAuto && !reason.empty()) chosen.text += ": " + reason;
  }
  if (options.normalize_features) {
    chosen.x = normalize_rows(chosen.x);
    const Tensor values = chosen.x.is_sparse() ? chosen.x.values() : chosen.x.input().value();
    if (values.numel() > 0)
      chosen.row_norm = std::sqrt(sum_squares({values}).item() / static_cast<double>(chosen.x.dim(0)));
  }
  chosen.x = chosen.x.to(activation_dtype(options.precision));
  return chosen;
}

}  // namespace rodeo
