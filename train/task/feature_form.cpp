#include "train/task/feature_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ops/dense_csr.h"
#include "train/task/model_registry.h"

namespace rodeo {
namespace {

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

ChosenFeatures convert_features(Dataset& dataset, const FeatureScale& scale, const TrainOptions& options,
                                FeatureForm form, Device device) {
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
  chosen.x = scale.apply(chosen.x).to(activation_dtype(options.precision));
  return chosen;
}

}  // namespace rodeo
