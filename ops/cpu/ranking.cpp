// Metrics of scores (ops/ranking.h): sorts both sets, then searches each positive in them.
#include <cmath>

#include "ops/cpu/loops.h"
#include "ops/kernels/pairs.h"
#include "ops/kernels/score_key.h"

namespace rodeo::kernels::cpu {
namespace {

template <class T>
std::vector<std::uint64_t> sorted_keys(const Tensor& scores) {
  const T* score = scores.data<T>();
  std::vector<std::uint64_t> keys(static_cast<std::size_t>(scores.numel()));
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = score_key(score[i]);
  std::sort(keys.begin(), keys.end());
  return keys;
}

}  // namespace

void ranking_metrics(const Tensor& positive, const Tensor& negative, std::int64_t hits,
                     const Tensor& metrics) {
  const auto run = [&]<class T>(T) {
    const std::vector<std::uint64_t> up = sorted_keys<T>(positive), down = sorted_keys<T>(negative);
    const std::int64_t p = positive.numel(), q = negative.numel();
    RankingTerms sum{0, 0, 0, 0};
    for (const std::uint64_t key : up) {
      const RankingTerms terms = ranking_terms(key, up.data(), p, down.data(), q, hits);
      sum.auc += terms.auc, sum.ap += terms.ap, sum.mrr += terms.mrr, sum.hits += terms.hits;
    }
    const bool nan = is_nan_key<T>(up.back()) || is_nan_key<T>(down.back());
    const double count = nan ? NAN : static_cast<double>(p);
    auto* out = metrics.data<double>();
    out[0] = sum.auc / (count * static_cast<double>(q));
    out[1] = sum.ap / count;
    out[2] = sum.mrr / count;
    out[3] = sum.hits / count;
  };
  if (positive.dtype() == DType::kF64)
    run(double{});
  else
    run(float{});
}

}  // namespace rodeo::kernels::cpu
