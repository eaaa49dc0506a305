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
  if (options_.relations.empty()) options_.relations = {{"", sets}};
  of_relations_ = Tensor::zeros({std::ssize(options_.relations), kRankingColumns}, DType::kF64, device);
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

Tensor PairRanking::metrics_of(const Tensor& positive, const Tensor& negative, bool by_edge) const {
  const std::int64_t p = positive.dim(0), q = negative.dim(0);
  const Tensor row = ranking_metrics(positive.reshape({p}), negative.reshape({q}), options_.hits);
  if (by_edge)
    row.slice(kRankingMrr, kRankingHits + 1)
        .copy_from(ranks_among_own(positive, negative.reshape({p, q / p}), options_.hits));
  return row;
}

Tensor PairRanking::metrics(const Tensor& scores) const {
  const Tensor out = Tensor::empty({6}, DType::kF64, scores.device());
  std::int64_t at = 0;
  for (std::int64_t s = 0; s < 3; ++s) {
    const PairCounts& pairs = counts_[static_cast<std::size_t>(s)];
    const Tensor set = scores.slice(at, at + pairs.size()),
                 row = metrics_.slice(s, s + 1).reshape({kRankingColumns});
    std::int64_t edge = 0, negative = pairs.positives;
    for (std::size_t r = 0; r < options_.relations.size(); ++r) {
      const PairCounts& own = options_.relations[r].sets[static_cast<std::size_t>(s)];
      if (own.positives == 0) continue;
      const Tensor found = metrics_of(set.slice(edge, edge + own.positives),
                                      set.slice(negative, negative + own.negatives), own.by_edge);
      const auto place = static_cast<std::int64_t>(r);
      if (s == 2) of_relations_.slice(place, place + 1).reshape({kRankingColumns}).copy_from(found);
      const double share = static_cast<double>(own.positives) / static_cast<double>(pairs.positives);
      row.copy_from(linear_combination(share, found, edge > 0 ? 1 : 0, row));
      edge += own.positives, negative += own.negatives;
    }
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
  if (options_.relations.size() == 1) return out;
  const std::vector<double> by_relation = of_relations_.to_vector<double>();
  for (std::size_t r = 0; r < options_.relations.size(); ++r)
    if (options_.relations[r].sets[2].positives > 0)
      out.emplace_back(fmt::format("{} of {}", name_of(options_.column), options_.relations[r].name),
                       by_relation[r * kRankingColumns + static_cast<std::size_t>(options_.column)]);
  return out;
}

std::string PairRanking::name_of(int column) const {
  constexpr const char* kNames[] = {"AUC", "AP", "MRR"};
  return column == kRankingHits ? fmt::format("Hits@{}", options_.hits) : kNames[column];
}

}  // namespace rodeo
