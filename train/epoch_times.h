/// Times of the epochs of a run, and their statistics.
#pragma once

#include <optional>
#include <vector>

#include "train/epoch_report.h"

namespace rodeo {

/// Collects what fit() measures. Warm-up epochs are kept one by one; profiled ones count for their parts
/// alone.
class EpochTimes {
 public:
  /// parts: of a profiled epoch.
  void add(const EpochReport& report, bool is_warmup);
  /// The batches of an epoch that was stopped.
  void keep(const std::optional<BatchTotals>& batches);
  /// Fills the times of a summary.
  void finish(TrainSummary& summary) const;
  bool has_evaluations() const { return !evaluation_ms_.empty(); }

 private:
  std::vector<double> warmup_ms_, epoch_ms_, wait_ms_, evaluation_ms_;
  std::vector<PartTimes> parts_;
  std::optional<BatchTotals> batches_;
};

}  // namespace rodeo
