/// Conversion of a dataset's features to the dense or sparse matrix that a model reads.
#pragma once

#include <string>

#include "datasets/dataset.h"
#include "ops/features.h"
#include "train/task/feature_scale.h"
#include "train/task/options.h"

namespace rodeo {

struct ChosenFeatures {
  Features x;
  std::string text;  // "sparse, 1.27 % of 2708 x 1433 are not zero"
};

/// Moves the features of `dataset` to `device`, scales them and converts them to options.precision.
/// Removes them from `dataset`.   form: kSparse or kDense (choose_form). Sparse features of a file that stay
/// sparse are never stored as dense.
ChosenFeatures convert_features(Dataset& dataset, const FeatureScale& scale, const TrainOptions& options,
                                FeatureForm form, Device device);

}  // namespace rodeo
