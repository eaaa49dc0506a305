#include "train/task/feature_scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/over_ranks.h"
#include "ops/dense_csr.h"
#include "ops/gather_rows.h"
#include "ops/gcn_norm.h"
#include "ops/norm.h"
#include "ops/pointwise.h"
#include "train/task/model_registry.h"

namespace rodeo {
namespace {

using enum FeatureScaling;

constexpr double kMostlyZero = 0.5, kDominant = 0.5, kMostSpread = 100, kMostVariation = 0.45,
                 kUnitTolerance = 1e-3;
constexpr std::int64_t kElements = std::int64_t{1} << 20;  // of a piece of rows

class Sample {
 public:
  explicit Sample(std::int64_t columns) : column_(static_cast<std::size_t>(columns)) {}

  /// columns: of the values; null: 0, 1, ...
  void add_row(const float* value, const std::int32_t* columns, std::int64_t count) {
    double sum = 0, squares = 0;
    for (std::int64_t e = 0; e < count; ++e) {
      const double x = static_cast<double>(value[e]);
      if (x == 0) continue;
      ++entries_;
      has_negative_ |= x < 0;
      sum += std::abs(x), squares += x * x;
      column_.at(static_cast<std::size_t>(columns ? columns[e] : e)) += std::abs(x);
    }
    if (sum == 0) return;
    spread_.push_back(sum * sum / squares);
    sums_ += sum, squares_of_sums_ += sum * sum;
    sum_is_one_ &= std::abs(sum - 1) < kUnitTolerance;
    norm_is_one_ &= std::abs(std::sqrt(squares) - 1) < kUnitTolerance;
  }

  FeatureFacts facts() {
    FeatureFacts out;
    out.rows = std::ssize(spread_);
    if (out.rows == 0) return out;
    const auto median = spread_.begin() + out.rows / 2;
    std::nth_element(spread_.begin(), median, spread_.end());
    double all = 0;
    for (const double sum : column_) all += sum;
    out.has_negative = has_negative_;
    out.is_unit = sum_is_one_ || norm_is_one_;
    out.zeros = 1 - entries_ / (static_cast<double>(out.rows) * static_cast<double>(column_.size()));
    out.spread = *median;
    const double mean = sums_ / static_cast<double>(out.rows);
    out.variation =
        std::sqrt(std::max(0.0, squares_of_sums_ / static_cast<double>(out.rows) - mean * mean)) / mean;
    out.largest_column = *std::max_element(column_.begin(), column_.end()) / all;
    return out;
  }

 private:
  std::vector<double> column_, spread_;
  double entries_ = 0, sums_ = 0, squares_of_sums_ = 0;
  bool has_negative_ = false, sum_is_one_ = true, norm_is_one_ = true;
};

/// Rows of a piece, at least one.
std::int64_t rows_of_piece(std::int64_t columns) {
  return std::max<std::int64_t>(1, kElements / std::max<std::int64_t>(columns, 1));
}

/// The scale of the rows that `wanted` names; empty: of all.
ColumnSums sum_columns(const FeatureRows& from, std::int64_t rows, std::int64_t columns,
                       const std::vector<bool>& wanted) {
  ColumnSums sums(columns);
  const std::int64_t piece = rows_of_piece(columns);
  for (std::int64_t begin = 0; begin < rows; begin += piece) {
    const std::int64_t end = std::min(rows, begin + piece);
    std::vector<std::int64_t> index;
    for (std::int64_t i = begin; i < end; ++i)
      if (wanted.empty() || wanted[static_cast<std::size_t>(i)]) index.push_back(i - begin);
    if (index.empty()) continue;
    const Tensor part = from.read(begin, end);
    sums.add(std::ssize(index) == end - begin ? part : gather_rows(part, Tensor::from(index, part.device())));
  }
  return sums;
}

/// Ranks have samples of their own: the choice of the first one with a row that is not zero.
FeatureScaling that_of_first(FeatureScaling own, bool knows, const Communicator& ranks) {
  constexpr int kChoices = 8;
  const int code = knows ? (ranks.size() - ranks.rank()) * kChoices + static_cast<int>(own) : 0;
  const std::int64_t found = over_ranks(ranks, std::vector<std::int64_t>{code}, Reduction::kMax)[0];
  return found > 0 ? static_cast<FeatureScaling>(found % kChoices) : own;
}

std::string text_of(FeatureScaling scaling) {
  switch (scaling) {
    case kNone:
      return "not scaled";
    case kUnit:
      return "rows of norm 1";
    case kRow:
      return "divided by row sums";
    default:
      return "standardised by column";
  }
}

/// Rows divided by their Euclidean norms; rows of zeros stay zero.
Features unit_rows(const Features& x) {
  if (!x.is_sparse()) return Features(l2_normalize(x.dense()));
  const Tensor inverse_norm = inverse_sqrt_degrees(x.entries(), mul(x.values(), x.values()));
  return dropout(x, /*p=*/0, {}, inverse_norm);
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

FeatureFacts sample_features(const FeatureRows& from, std::int64_t rows, std::int64_t columns) {
  Sample sample(columns);
  const std::int64_t most = std::min(kSampledRows, rows_of_piece(columns));
  for_sampled_rows(rows, most, [&](std::int64_t begin, std::int64_t end) {
    const Tensor part = from.read(begin, end).to(kCpu);
    for (std::int64_t i = 0; i < end - begin; ++i)
      sample.add_row(part.data<float>() + i * columns, nullptr, columns);
  });
  return sample.facts();
}

FeatureFacts sample_features(const SparseFeatures& x, std::int64_t columns) {
  Sample sample(columns);
  const std::vector<std::int64_t> ptr = x.indptr.to_vector<std::int64_t>();
  const std::int64_t most = std::min(kSampledRows, rows_of_piece(columns));
  for_sampled_rows(std::ssize(ptr) - 1, most, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t first = ptr[static_cast<std::size_t>(begin)],
                       last = ptr[static_cast<std::size_t>(end)];
    if (first == last) return;
    const Tensor data = x.data.slice(first, last).to(kCpu),
                 column = x.indices.slice(first, last).to(kCpu).to(DType::kI32);
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t at = ptr[static_cast<std::size_t>(i)] - first;
      sample.add_row(data.data<float>() + at, column.data<std::int32_t>() + at,
                     ptr[static_cast<std::size_t>(i) + 1] - first - at);
    }
  });
  return sample.facts();
}

ScalingChoice choose_scaling(const FeatureFacts& facts, bool stays_sparse) {
  if (facts.rows == 0) return {kNone, "all are zero"};
  if (facts.is_unit) return {kNone, "rows have a norm of 1 already"};
  const std::string zeros = fmt::format("{:.1f} % zeros", 100 * facts.zeros);
  const std::string spread = fmt::format("a row is spread over about {:.0f} values", facts.spread);
  const bool counts = !facts.has_negative && facts.zeros >= kMostlyZero;
  if (counts && facts.largest_column < kDominant && (stays_sparse || facts.spread <= kMostSpread))
    return facts.variation < kMostVariation && facts.spread <= kMostSpread
               ? ScalingChoice{kRow, "not negative, " + zeros}
               : ScalingChoice{kUnit, fmt::format("not negative, {}, sums of rows vary by {:.0f} %", zeros,
                                                  100 * facts.variation)};
  if (stays_sparse) return {kNone, "sparse, with negative values or few columns"};
  if (!counts) return {kStandard, facts.has_negative ? "negative values" : "not negative, but " + zeros};
  return {kStandard, facts.largest_column < kDominant ? spread : "one column has most of the sum"};
}

Features FeatureScale::apply(const Features& x) const {
  if (scaling == kRow) return normalize_rows(x);
  if (scaling == kUnit) return unit_rows(x);
  return scaling == kStandard ? Features(columns.apply(x.dense().value())) : x;
}

FeatureScale make_feature_scale(const Dataset& dataset, const std::string& file, const Tensor& train,
                                const TrainOptions& options, Device device, const Communicator& ranks,
                                bool own, bool stays_sparse) {
  const FeatureRows from{dataset.x, file};
  const std::int64_t rows = dataset.x.defined() ? dataset.x.dim(0) : dataset.num_nodes,
                     columns = dataset.num_features;
  const bool sparse = dataset.x_sparse.defined();
  FeatureScale out;
  out.scaling = options.normalize_features;
  std::string reason;
  if (out.scaling == kAuto || out.scaling == kRow || out.scaling == kUnit) {
    const FeatureFacts facts =
        sparse ? sample_features(dataset.x_sparse, columns) : sample_features(from, rows, columns);
    const ScalingChoice choice = choose_scaling(facts, stays_sparse);
    if (out.scaling != kAuto) {
      if (choice.scaling == kStandard)
        out.warning =
            str("--normalize-features ", out.scaling, ": auto would take standard: ", choice.reason);
    } else {
      out.scaling = own ? that_of_first(choice.scaling, facts.rows > 0, ranks) : choice.scaling;
      reason = fmt::format(" (auto{})", out.scaling == choice.scaling ? ": " + choice.reason : "");
    }
  }
  if (out.scaling == kStandard || out.scaling == kStandardAll) {
    std::vector<bool> wanted;
    if (out.scaling == kStandard && train.defined()) {
      wanted.resize(static_cast<std::size_t>(rows));
      for (const std::int64_t row : train.to_vector<std::int64_t>())
        wanted[static_cast<std::size_t>(row)] = true;
    }
    const FeatureRows values{sparse ? dense_features(dataset) : from.x, file};
    // The first rank reads a file that all would read.
    const bool of_first = !own && !values.x.defined() && ranks.size() > 1;
    ColumnSums sums(columns);
    if (!of_first || ranks.rank() == 0) sums = sum_columns(values, rows, columns, wanted);
    if (own) sums.add_ranks(ranks);
    ColumnScale scale = sums.scale();
    if (of_first) scale = scale.of_rank(0, ranks);
    out.columns = scale.to(device);
    out.scaling = kStandard;
  }
  out.text = text_of(out.scaling) + reason;
  return out;
}

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
