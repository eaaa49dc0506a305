#include "train/epoch_times.h"

namespace rodeo {

void EpochTimes::add(const EpochReport& report, bool is_warmup) {
  if (report.parts)
    parts_.push_back(*report.parts);
  else
    (is_warmup ? warmup_ms_ : epoch_ms_).push_back(report.ms);
  if (report.evaluation) evaluation_ms_.push_back(report.evaluation_ms);
  if (!report.batches) return;
  if (!report.parts && !is_warmup) wait_ms_.push_back(report.batches->wait_ms);
  keep(report.batches);
}

/// A profiled epoch, which has the times of its parts, is kept until the next one.
void EpochTimes::keep(const std::optional<BatchTotals>& batches) {
  if (batches && (!batches_ || batches_->train_ms == 0 || batches->train_ms > 0)) batches_ = batches;
}

void EpochTimes::finish(TrainSummary& summary) const {
  const auto of_parts = [&](double PartTimes::*part) {
    std::vector<double> values;
    for (const PartTimes& times : parts_) values.push_back(times.*part);
    return summarize(std::move(values));
  };
  summary.warmup_ms = warmup_ms_;
  summary.epoch_ms = summarize(epoch_ms_);
  summary.wait_ms = summarize(wait_ms_);
  summary.evaluation_ms = summarize(evaluation_ms_);
  summary.parts = {of_parts(&PartTimes::sparse), of_parts(&PartTimes::gemm), of_parts(&PartTimes::other),
                   of_parts(&PartTimes::communication)};
  summary.batches = batches_;
}

}  // namespace rodeo
