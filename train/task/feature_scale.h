/// How raw features become the dense or sparse input of a model: --normalize-features.
#pragma once

#include <string>
#include <vector>

#include "datasets/dataset.h"
#include "train/column_scale.h"
#include "train/task/data_source.h"

namespace rodeo {

/// What a sample of rows that are not zero says of features.
struct FeatureFacts {
  std::int64_t rows = 0;
  bool has_negative = false;
  bool is_unit = false;       // each row has a sum of 1, or a Euclidean norm of 1
  double zeros = 0;           // share of all values
  double spread = 0;          // median over rows of (sum |x|)^2 / sum x^2: k equal values are k
  double variation = 0;       // of the sums of rows: standard deviation over mean
  double largest_column = 0;  // share of the sum of all |x| that the largest column has
};
FeatureFacts sample_features(const FeatureRows& from, std::int64_t rows, std::int64_t columns);
FeatureFacts sample_features(const SparseFeatures& x, std::int64_t columns);

/// What FeatureScaling::kAuto is, and why.
struct ScalingChoice {
  FeatureScaling scaling = FeatureScaling::kNone;
  std::string reason;  // "not negative, 98.7 % zeros"
};
/// kNone for rows that are unit already, and where all are zero. For counts and sparse binary features (not
/// negative, at least half of the values zero, no column with half of the sum, and a spread of at most 100 or
/// stays_sparse) kRow, as in the papers; kUnit where the sums of rows vary by 0.45 or more, or the spread is
/// larger: divided by their sums, such rows are too small to learn from. Else kStandard; kNone with
/// stays_sparse: the features are stored as sparse, which kStandard would fill.
ScalingChoice choose_scaling(const FeatureFacts& facts, bool stays_sparse);

/// A choice, carried out.
struct FeatureScale {
  FeatureScaling scaling = FeatureScaling::kNone;  // kNone, kUnit, kRow or kStandard
  ColumnScale columns;                             // of kStandard, on the device of x
  std::string text;                                // "rows of norm 1 (auto: not negative, 98.7 % zeros)"
  std::string warning;                             // where the option is not what auto would take

  /// x is f32; dense for kStandard.
  Features apply(const Features& x) const;
};

/// What a model of several node types was trained on.
struct TrainedTypes {
  struct Type {
    std::string name;
    std::int64_t nodes = 0, features = 0;
    FeatureScale scale;
  };
  std::vector<Type> types;             // empty: the model is of one type of nodes
  std::vector<std::string> relations;  // "author:writes:paper", without the reverses of --undirected
  std::string target;                  // the type whose labels are learned
};

/// Chooses and computes the scale of the features of `dataset`.
///   file   of dense features that are not in `dataset`
///   train  i64 [n], rows whose statistics kStandard has; undefined: all
///   device of the features that it is applied to
///   own    the ranks have rows of their own. A collective call
///   stays_sparse: as for choose_scaling
FeatureScale make_feature_scale(const Dataset& dataset, const std::string& file, const Tensor& train,
                                const TrainOptions& options, Device device, const Communicator& ranks,
                                bool own, bool stays_sparse);

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
