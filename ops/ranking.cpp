#include "ops/ranking.h"

#include <cmath>
#include <limits>

#include "ops/checks.h"
#include "ops/kernels/pairs.h"

namespace rodeo {

Tensor ranking_metrics(const Tensor& positive, const Tensor& negative, std::int64_t hits) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  check_vector("ranking_metrics", "positive", positive);
  check_vector("ranking_metrics", "negative", negative);
  check_alike("ranking_metrics", "positive", positive, "negative", negative);
  check(hits >= 1, "[ranking_metrics] hits must be at least 1, got ", hits);
  check(positive.numel() <= kMost && negative.numel() <= kMost,
        "[ranking_metrics] at most 2^31 - 1 scores, got ", positive.shape(), " and ", negative.shape());
  const Tensor metrics = Tensor::empty({kRankingColumns}, DType::kF64, positive.device());
  if (positive.numel() == 0 || negative.numel() == 0) {
    metrics.fill(NAN);
    return metrics;
  }
  const DType dtype = sum_dtype(positive.dtype());
  kernels::ranking_metrics.on(metrics.device())(positive.to(dtype), negative.to(dtype), hits, metrics);
  return metrics;
}

}  // namespace rodeo
