/// The loss and the metrics of link prediction.
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "ops/ranking.h"
#include "train/criterion.h"

namespace rodeo {

/// Pairs of a set: edges, and pairs without an edge behind them.
struct PairCounts {
  std::int64_t positives = 0, negatives = 0;
  bool by_edge = false;  // each edge has negatives of its own, equally many, in the order of the edges
  std::int64_t size() const { return positives + negatives; }
};

/// Pairs of one relation in each set.
struct RelationPairs {
  std::string name;
  std::array<PairCounts, 3> sets;
};

struct PairRankingOptions {
  int column = kRankingAuc;  // of ranking_metrics(): the metric
  std::int64_t hits = 50;    // K of Hits@K
  /// Relations that are predicted: the edges of a set are sorted by relation, and so are its negatives.
  /// Empty: one.
  std::vector<RelationPairs> relations = {};
};

/// Scores of pairs of nodes. Examples are training edges; each comes with a pair without an edge. The loss is
/// the binary cross entropy of the scores [2 k, 1] of k edges and k such pairs behind them. MRR and Hits@K
/// rank an edge among all negatives of its set as ranking_metrics() does; with PairCounts::by_edge among its
/// own, as OGB's evaluators of ogbl-citation2: Hits@K is the fraction of ranks of at most K. With several
/// relations metrics are those of each, whose mean over all edges decides; details() has both.
class PairRanking : public Criterion {
 public:
  /// own: the training pairs that one step over the whole graph scores on this rank. sets: the training,
  /// validation and test pairs of all ranks.
  PairRanking(const PairCounts& own, const std::array<PairCounts, 3>& sets, Device device,
              const PairRankingOptions& options = {});

  Variable loss(const Variable& scores, const Examples& examples) const override;
  double terms(std::span<const std::int64_t> examples) const override;
  double training_terms() const override { return static_cast<double>(own_.size()); }
  /// scores [pairs, 1]: of the training, validation and test pairs, one set behind the other. Keeps the
  /// metrics for details().
  Tensor metrics(const Tensor& scores) const override;
  std::string metric_name() const override { return name_of(options_.column); }
  std::vector<std::pair<std::string, double>> details() const override;
  const Split& sets() const override { return edges_; }

 private:
  std::string name_of(int column) const;  // "AUC", "Hits@50"
  /// f64 [kRankingColumns]
  Tensor metrics_of(const Tensor& positive, const Tensor& negative, bool by_edge) const;

  PairCounts own_;
  std::array<PairCounts, 3> counts_;
  PairRankingOptions options_;
  Split edges_;  // numbers of the positives of each set
  RowNumbers row_numbers_;
  Tensor own_target_;              // u8 [pairs, 1] of `own`
  std::array<Tensor, 3> targets_;  // u8 [pairs, 1]
  Tensor metrics_;                 // f64 [3, kRankingColumns], of the last metrics()
  Tensor of_relations_;            // f64 [relations, kRankingColumns], of the test pairs
};

}  // namespace rodeo
