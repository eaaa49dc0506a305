/// Metrics of link prediction: how far the scores of positives are above those of negatives.
#pragma once

#include <cstdint>

#include "core/enum_names.h"
#include "core/tensor.h"

namespace rodeo {

/// The metrics of ranking_metrics(), each the index of its column.
enum RankingMetric { kRankingAuc, kRankingAp, kRankingMrr, kRankingHits };
template <>
inline constexpr auto kEnumNames<RankingMetric> = enum_names<RankingMetric>(
    {{kRankingAuc, "auc"}, {kRankingAp, "ap"}, {kRankingMrr, "mrr"}, {kRankingHits, "hits"}});
constexpr int kRankingColumns = 4;

/// Four metrics of two sets of scores.
///   positive  [p]  f64, f32, bf16 or f16
///   negative  [q]  of the same dtype and device
///   hits      K of Hits@K, at least 1
///   returns   f64 [4], all in [0, 1]; NaN where a score is NaN or a set is empty
///     kRankingAuc   ROC-AUC: the fraction of pairs (positive, negative) in the right order; ties count half
///     kRankingAp    average precision: the mean over positives of the precision at their score, ties
///     included
///                   (scikit-learn's average_precision_score)
///     kRankingMrr   mean of 1 / rank of a positive among all negatives: rank 1 + those above + half the ties
///     kRankingHits  Hits@K: the fraction of positives above the K-th highest negative (Hu et al., "Open
///     Graph
///                   Benchmark", NeurIPS 2020); 1 with fewer than K negatives
/// p and q are at most 2^31 - 1. Takes O((p + q) log) time. Does not wait for the device.
/// Deterministic: same inputs, same device, same bits. Throws rodeo::Error when shapes, dtypes or devices
/// disagree.
Tensor ranking_metrics(const Tensor& positive, const Tensor& negative, std::int64_t hits = 50);

}  // namespace rodeo
