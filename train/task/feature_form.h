/// Whether a model reads its features as a dense matrix or as a sparse one.
#pragma once

#include <string>

#include "datasets/dataset.h"
#include "ops/features.h"
#include "train/task/options.h"

namespace rodeo {

/// Why the model that `options` describe needs dense features; empty where it takes sparse ones too.
std::string why_dense(const TrainOptions& options);

struct ChosenFeatures {
  Features x;
  std::string text;  // "sparse, 1.27 % of 2708 x 1433 are not zero"
};

/// The features of `dataset`, which loses them, on `device`, normalised and rounded as `options` say, in the
/// form that options.features names. kAuto is sparse where the model takes it and the file has sparse
/// features, or less than kSparseBelow of dense ones is not zero, by a sample of rows. Sparse features of a
/// file that stay sparse are never written out.
ChosenFeatures choose_features(Dataset& dataset, const TrainOptions& options, Device device);

/// The share of nonzeros below which the sparse form is taken: docs/training.md has the measurements.
constexpr double kSparseBelowOnCpu = 0.2, kSparseBelowOnCuda = 0.12;

}  // namespace rodeo
