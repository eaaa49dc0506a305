/// Conversion of a dataset's features to the dense or sparse matrix that a model reads.
#pragma once

#include <string>

#include "datasets/dataset.h"
#include "ops/features.h"
#include "train/task/options.h"
#include "train/timing.h"

namespace rodeo {

struct ChosenFeatures {
  Features x;
  std::string text;                     // "sparse, 1.27 % of 2708 x 1433 are not zero"
  double row_norm = Statistics::kNone;  // root of the mean squared norm of a normalised row
};

/// Moves the features of `dataset` to `device`, normalises them and converts them to options.precision, in
/// the form options.features. Removes them from `dataset`. FeatureForm::kAuto is sparse if the model reads
/// sparse features, and the file has sparse ones or the density of dense ones, estimated from a sample of
/// rows, is below kSparseBelowOnCpu or kSparseBelowOnCuda. A model that keeps S^K X of dense features reads
/// sparse ones only if propagating X W in each epoch is less work. Sparse features of a file that stay sparse
/// are never stored as dense.
ChosenFeatures choose_features(Dataset& dataset, const TrainOptions& options, Device device);
/// The first half of choose_features(): kSparse or kDense. Throws Error for sparse features that the model
/// cannot read.
FeatureForm choose_feature_form(const Dataset& dataset, const TrainOptions& options, Device device);
/// The second half.
ChosenFeatures convert_features(Dataset& dataset, const TrainOptions& options, FeatureForm form,
                                Device device);

}  // namespace rodeo
