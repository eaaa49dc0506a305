#include "ops/ranking.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "tests/support/devices.h"
#include "tests/support/near.h"
#include "tests/support/sums.h"

namespace rodeo::test {
namespace {

class OpsRanking : public OnDevice {
 protected:
  static std::vector<double> metrics(const std::vector<float>& up, const std::vector<float>& down,
                                     std::int64_t hits = 50) {
    const Poisoned poisoned;
    return doubles(ranking_metrics(Tensor::from(up, device()), Tensor::from(down, device()), hits));
  }
};
RODEO_ON_ALL_DEVICES(OpsRanking);

/// By definition, in quadratic time.
std::vector<double> reference(const std::vector<double>& up, const std::vector<double>& down,
                              std::size_t hits) {
  double auc = 0, ap = 0, mrr = 0, hit = 0;
  std::vector<double> sorted = down;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  for (const double s : up) {
    double above = 0, ties = 0, reached = 0;
    for (const double t : down) above += t > s, ties += t == s;
    for (const double t : up) reached += t >= s;
    auc += static_cast<double>(down.size()) - above - ties / 2;
    ap += reached / (reached + above + ties);
    mrr += 1 / (1 + above + ties / 2);
    hit += sorted.size() < hits || s > sorted[hits - 1];
  }
  const auto p = static_cast<double>(up.size());
  return {auc / p / static_cast<double>(down.size()), ap / p, mrr / p, hit / p};
}

TEST_P(OpsRanking, EqualsTheDefinition) {
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kBF16, DType::kF16})
    for (const auto& [p, q, hits] : {std::array{1, 1, 1}, {3, 70, 50}, {257, 1000, 10}, {1000, 300, 301}}) {
      const Poisoned poisoned;
      // bf16 and f16 have many ties.
      const Tensor up = random_tensor({p}, dtype, device(), 1), down = random_tensor({q}, dtype, device(), 2);
      const Tensor got = ranking_metrics(up, down, hits);
      EXPECT_TRUE(near(got, reference(doubles(up), doubles(down), static_cast<std::size_t>(hits)), 1e-12))
          << dtype << " " << p << " " << q;
      EXPECT_TRUE(same_bits(got, ranking_metrics(up, down, hits)));
    }
}

TEST_P(OpsRanking, KnownValues) {
  EXPECT_EQ(metrics({3, 2}, {1, 0}, 1), (std::vector<double>{1, 1, 1, 1}));
  EXPECT_EQ(metrics({-2, -3}, {1, -1}, 2), (std::vector<double>{0, (1. / 3 + 0.5) / 2, 1. / 3, 0}));
  const std::vector<double> ties = metrics({1, 1}, {1, 1}, 1);
  EXPECT_EQ(ties[kRankingAuc], 0.5);
  EXPECT_EQ(ties[kRankingAp], 0.5);
  EXPECT_EQ(ties[kRankingMrr], 0.5);
  EXPECT_EQ(ties[kRankingHits], 0);
  EXPECT_EQ(metrics({0.f}, {-0.f}, 1)[kRankingAuc], 0.5);
  EXPECT_EQ(metrics({INFINITY}, {-INFINITY, 1e30f}, 2), (std::vector<double>{1, 1, 1, 1}));
  EXPECT_EQ(metrics({1}, {2}, 2)[kRankingHits], 1);  // fewer negatives than K
}

TEST_P(OpsRanking, NanAndEmptySetsGiveNan) {
  for (const auto& got :
       {metrics({1, NAN}, {0}), metrics({1}, {-NAN, 0}), metrics({}, {0}), metrics({1}, {})})
    for (const double value : got) EXPECT_TRUE(std::isnan(value));
}

TEST_P(OpsRanking, Errors) {
  const Tensor x = Tensor::zeros({3}, DType::kF32, device());
  EXPECT_ERROR(ranking_metrics(x, x, 0), "[ranking_metrics] hits must be at least 1, got 0");
  EXPECT_ERROR(ranking_metrics(x.reshape({3, 1}), x),
               "[ranking_metrics] positive must be a vector [n], got [3, 1]");
  EXPECT_ERROR(ranking_metrics(x, x.to(DType::kF64)),
               "[ranking_metrics] negative must have the dtype of positive, f32, got f64");
}

}  // namespace
}  // namespace rodeo::test
