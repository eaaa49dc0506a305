#include "train/pair_ranking.h"

#include <fmt/format.h>

#include "ops/bce.h"
#include "ops/combine.h"
#include "ops/dense.h"
#include "ops/pointwise.h"

namespace rodeo {
namespace {

/// Ones, then zeros.
Tensor target_of(const PairCounts& pairs, Device device) {
  const Tensor target = Tensor::zeros({pairs.size(), 1}, DType::kU8, device);
  target.slice(0, pairs.positives).fill(1);
  return target;
}

/// MRR and Hits@K, f64 [2], of edges [p, 1] among negatives of their own [p, m].
Tensor ranks_among_own(const Tensor& edges, const Tensor& negatives, std::int64_t hits) {
  const auto ones = [&](Shape shape) { return Tensor::full(shape, 1, DType::kF64, edges.device()); };
  const auto step = [](double a, const Tensor& x, double b, const Tensor& y) {  // of a x + b y: 0, 1/2 or 1
    constexpr double kSteep = 1e300;
    return sigmoid(linear_combination(kSteep, linear_combination(a, x, b, y), 0, x));
  };
  const std::int64_t p = edges.dim(0), m = negatives.dim(1);
  const Tensor above = step(1, negatives.to(DType::kF64), -1, matmul(edges.to(DType::kF64), ones({1, m}))),
               one = ones({p, 1}), rank = linear_combination(1, matmul(above, ones({m, 1})), 1, one),
               inverse = exp(linear_combination(-1, log(rank), 0, one)),
               hit = step(static_cast<double>(hits) + 0.25, one, -1, rank);
  const Tensor sums = matmul(concat_columns(std::vector{inverse, hit}), one, Transpose::kYes);
  return linear_combination(1 / static_cast<double>(p), sums, 0, sums).reshape({2});
}

}  // namespace

PairRanking::PairRanking(const PairCounts& own, const std::array<PairCounts, 3>& sets, Device device,
                         const PairRankingOptions& options)
    : own_(own),
      counts_(sets),
      options_(options),
      row_numbers_(device),
      own_target_(target_of(own, device)),
      metrics_(Tensor::zeros({3, kRankingColumns}, DType::kF64, device)) {
  edges_ = {row_numbers_(sets[0].positives), row_numbers_(sets[1].positives),
            row_numbers_(sets[2].positives)};
  for (std::size_t s = 0; s < 3; ++s) targets_[s] = target_of(sets[s], device);
}

Variable PairRanking::loss(const Variable& scores, const Examples& examples) const {
  const std::int64_t k = examples.ids.defined() ? examples.ids.numel() : 0;
  const Tensor target = k == 0 ? own_target_ : target_of({k, k}, scores.device());
  return bce_with_logits(scores, target, row_numbers_(target.dim(0)));
}

double PairRanking::terms(std::span<const std::int64_t> examples) const {
  return 2 * static_cast<double>(examples.size());
}

Tensor PairRanking::metrics(const Tensor& scores) const {
  const Tensor out = Tensor::empty({6}, DType::kF64, scores.device());
  std::int64_t at = 0;
  for (std::int64_t s = 0; s < 3; ++s) {
    const PairCounts& pairs = counts_[static_cast<std::size_t>(s)];
    const Tensor set = scores.slice(at, at + pairs.size()), flat = set.reshape({pairs.size()}),
                 row = metrics_.slice(s, s + 1).reshape({kRankingColumns});
    row.copy_from(ranking_metrics(flat.slice(0, pairs.positives), flat.slice(pairs.positives, pairs.size()),
                                  options_.hits));
    if (pairs.by_edge)
      row.slice(kRankingMrr, kRankingHits + 1)
          .copy_from(ranks_among_own(set.slice(0, pairs.positives),
                                     flat.slice(pairs.positives, pairs.size())
                                         .reshape({pairs.positives, pairs.negatives / pairs.positives}),
                                     options_.hits));
    out.slice(2 * s, 2 * s + 1).copy_from(row.slice(options_.column, options_.column + 1));
    out.slice(2 * s + 1, 2 * s + 2)
        .copy_from(label_metrics(set, targets_[static_cast<std::size_t>(s)], {row_numbers_(pairs.size())})
                       .reshape({2})
                       .slice(1, 2));
    at += pairs.size();
  }
  return out.reshape({3, 2});
}

std::vector<std::pair<std::string, double>> PairRanking::details() const {
  const std::vector<double> all = metrics_.to_vector<double>();
  std::vector<std::pair<std::string, double>> out;
  for (int m = 0; m < kRankingColumns; ++m)
    out.emplace_back(name_of(m), all[static_cast<std::size_t>(2 * kRankingColumns + m)]);
  return out;
}

std::string PairRanking::name_of(int column) const {
  constexpr const char* kNames[] = {"AUC", "AP", "MRR"};
  return column == kRankingHits ? fmt::format("Hits@{}", options_.hits) : kNames[column];
}

}  // namespace rodeo
