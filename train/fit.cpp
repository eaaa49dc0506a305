// Trainer::fit: the epochs of a run with their times, evaluations and ends.
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "core/async_host_copy.h"
#include "core/category_timer.h"
#include "core/over_ranks.h"
#include "core/stopwatch.h"
#include "train/trainer.h"

namespace rodeo {
namespace {

void check_loss(double loss, const char* set, int epoch) {
  if (!std::isfinite(loss))  // abs: some NaNs would be printed as "-nan"
    throw NotFinite(str("[train] the ", set, " loss is ", std::abs(loss), " in epoch ", epoch,
                        ": try a smaller learning rate"));
}

PartTimes parts_of(CategoryTimer& timer, double ms) {
  const double sparse = timer.milliseconds(KernelCategory::kSparse),
               gemm = timer.milliseconds(KernelCategory::kGemm),
               communication = timer.milliseconds(KernelCategory::kCommunication);
  return {sparse, gemm, ms - sparse - gemm - communication, communication};
}

/// Times of the epochs of a run. Warm-up epochs are kept one by one; profiled ones count for their parts
/// alone.
struct EpochTimes {
  void add(const EpochReport& report, bool is_warmup) {
    if (report.parts)
      parts.push_back(*report.parts);
    else
      (is_warmup ? warmup_ms : epoch_ms).push_back(report.ms);
    if (report.evaluation) evaluation_ms.push_back(report.evaluation_ms);
    if (report.batches && !report.parts && !is_warmup) wait_ms.push_back(report.batches->wait_ms);
    keep(report.batches);
  }
  /// A profiled epoch, which has the times of its parts, is kept until the next one.
  void keep(const std::optional<BatchTotals>& of) {
    if (of && (!batches || batches->train_ms == 0 || of->train_ms > 0)) batches = of;
  }
  void finish(TrainSummary& summary) const {
    const auto of_parts = [&](double PartTimes::*part) {
      std::vector<double> values;
      for (const PartTimes& times : parts) values.push_back(times.*part);
      return summarize(std::move(values));
    };
    summary.warmup_ms = warmup_ms;
    summary.epoch_ms = summarize(epoch_ms);
    summary.wait_ms = summarize(wait_ms);
    summary.evaluation_ms = summarize(evaluation_ms);
    summary.parts = {of_parts(&PartTimes::sparse), of_parts(&PartTimes::gemm), of_parts(&PartTimes::other),
                     of_parts(&PartTimes::communication)};
    summary.batches = batches;
  }

  std::vector<double> warmup_ms, epoch_ms, wait_ms, evaluation_ms;
  std::vector<PartTimes> parts;
  std::optional<BatchTotals> batches;
};

}  // namespace

template <class F>
Tensor Trainer::watched(int epoch, F&& work) {
  if (!options_.watch) return work();
  const ScopedKernelObserver observe(*options_.watch);
  try {
    return work();
  } catch (const NotFinite& error) {
    throw NotFinite(str(error.what(), ", in epoch ", epoch));
  }
}

bool Trainer::is_profiled(int epoch, int first) const {
  const int every = options_.profile_every, warm = first - 1 + options_.warmup_epochs;
  // Profiled epochs run op by op. They precede the capture, for the memory of both would add up.
  if (captures_whole_) return every > 0 && epoch - warm <= std::min(5, (options_.epochs - warm) / 2);
  // In the middle of each interval, so that a run of few epochs has a profiled one too.
  return every > 0 && epoch % every == every / 2;
}

std::optional<BatchTotals> Trainer::totals_of_all() const {
  const BatchTotals* own = parts_.source->totals();
  if (!own) return std::nullopt;
  BatchTotals totals = *own;
  if (parts_.exchange.is_one_rank()) return totals;
  const std::vector<std::int64_t> all =
      over_ranks(parts_.exchange.ranks(), std::vector{totals.edges, totals.nodes}, Reduction::kSum, device_);
  totals.edges = all[0], totals.nodes = all[1];
  return totals;
}

TrainSummary Trainer::fit(const std::function<void(const EpochReport&)>& on_epoch) {
  TrainSummary summary;
  EpochTimes times;
  progress_ = std::exchange(start_, {});
  batch_loss_ = {};
  TrainerState& now = progress_;
  const int first = now.epoch + 1;
  const bool begins_within = now.batch > 0;
  bool has_evaluated = false;
  AsyncHostCopy loss, metrics;
  reset_peak_memory(device_);
  model_.train();
  const bool ended = !begins_within && now.best_epoch > 0 && now.epoch % options_.eval_every == 0 &&
                     now.is_out_of_patience(options_.patience, options_.stop_on_loss);
  for (int epoch = first; !ended && epoch <= options_.epochs; ++epoch) {
    EpochReport report;
    report.epoch = epoch;
    report.epochs = options_.epochs;
    const bool warmup = epoch - first < options_.warmup_epochs || (begins_within && epoch == first);
    const bool profiled = !warmup && is_profiled(epoch, first);
    const bool replayed = captures_whole_ && epoch > first && !warmup && !profiled;
    captures_ = parts_.source->has_batches()
                    ? options_.cuda_graph && device_.is_cuda() && !options_.watch && !profiled
                    : replayed;
    if (replayed) {
      // The first evaluation runs op by op: its memory would add to that of the captured step.
      if (!std::exchange(has_evaluated, true)) watched(epoch, [&] { return evaluation_.run(); });
      capture_if_stale(step_);
    }
    set_learning_rate(epoch);
    report.lr = rates_.front();

    CategoryTimer category_timer(device_);
    std::optional<ScopedKernelObserver> timed_parts, timed;
    if (profiled) timed_parts.emplace(category_timer);
    if (profiled && options_.timer && options_.timer->begin_step(epoch)) timed.emplace(*options_.timer);
    synchronize(device_);
    Stopwatch stopwatch(device_);
    const Tensor result = watched(epoch, [&] { return run_epoch(profiled); });
    report.batches = totals_of_all();
    stopwatch.stop();
    timed.reset();
    timed_parts.reset();
    if (stopped_within_) {
      times.keep(report.batches);
      summary.stopped = true;
      break;
    }
    loss.start(result);

    const auto read_loss = [&] {
      report.loss = loss.values().item();
      if (options_.stop_at_nan) check_loss(report.loss, "training", epoch);
    };
    // After a replay the host launches the evaluation before it waits for the loss.
    if (!replayed) read_loss();
    summary.stopped = epoch < options_.epochs && stops();
    std::optional<Stopwatch> evaluation_stopwatch;
    if (epoch % options_.eval_every == 0 || epoch == options_.epochs || summary.stopped) {
      // The graph of the evaluation reuses the memory of the step's graph, so that one must exist.
      const bool replay_it = captures_whole_ && step_.is_current() && has_evaluated;
      if (replay_it) capture_if_stale(evaluation_, &step_);
      evaluation_stopwatch.emplace(device_);
      const Tensor evaluated =
          replay_it ? evaluation_.replay() : watched(epoch, [&] { return evaluation_.run(); });
      has_evaluated = true;
      evaluation_stopwatch->stop();
      metrics.start(evaluated);
    }
    if (replayed) read_loss();
    report.ms = stopwatch.milliseconds();
    if (profiled) report.parts = parts_of(category_timer, report.ms);
    if (evaluation_stopwatch) {
      report.evaluation = read_evaluation(metrics.values());
      report.evaluation_ms = evaluation_stopwatch->milliseconds();
      if (options_.stop_at_nan) check_loss(report.evaluation->val_loss, "validation", epoch);
      schedule_.observe(report.evaluation->val_loss);
      now.record(*report.evaluation, epoch);
    }
    times.add(report, warmup);
    now.epoch = epoch;
    report.best_epoch = now.best_epoch;
    report.best = now.best;
    if (on_epoch) on_epoch(report);
    if (summary.stopped ||
        (report.evaluation && now.is_out_of_patience(options_.patience, options_.stop_on_loss)))
      break;
  }
  summary.epochs = now.epoch;
  summary.batch = now.batch;
  summary.best_epoch = now.best_epoch;
  if (now.best_epoch > 0) summary.best = now.best;
  if (now.best_epoch > 0 || !times.evaluation_ms.empty()) summary.last = now.last;
  times.finish(summary);
  summary.kernels = step_.num_kernels();
  summary.peak_bytes = memory_stats(device_).peak;
  return summary;
}

}  // namespace rodeo
