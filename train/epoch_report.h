/// What a Trainer reports: of one epoch, and of a run.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "train/step_source.h"
#include "train/timing.h"

namespace rodeo {

/// Metrics (Criterion::metrics) in evaluation mode; accuracies are in [0, 1].
struct Evaluation {
  double train = 0, val = 0, test = 0;
  double val_loss = 0;
};

inline constexpr Evaluation kNotEvaluated{Statistics::kNone, Statistics::kNone, Statistics::kNone,
                                          Statistics::kNone};

/// Milliseconds of one profiled step by kind of kernel (KernelCategory).
struct PartTimes {
  double sparse = 0, gemm = 0, other = 0;
  double communication = 0;  // collectives of several ranks
};

struct EpochReport {
  int epoch = 0;    // from 1
  int epochs = 0;   // at most
  double loss = 0;  // of the training examples, in training mode, before the update of each step
  double ms = 0;    // of the training steps
  double lr = 0;    // of the first parameter
  std::optional<Evaluation> evaluation;
  double evaluation_ms = Statistics::kNone;
  std::optional<PartTimes> parts;      // of a profiled epoch
  std::optional<BatchTotals> batches;  // of sampled mini-batches; the times are those of a profiled epoch
  int best_epoch = 0;                  // so far; 0: none yet
  Evaluation best;
};

/// Statistics of PartTimes over the profiled epochs.
struct StepParts {
  Statistics sparse, gemm, other;
  Statistics communication = {};
};

struct TrainSummary {
  int epochs = 0;        // the last epoch that ran
  int batch = 0;         // mini-batches of the next one, where stop ended it; 0: none
  bool stopped = false;  // ended early by TrainerOptions::stop
  int best_epoch = 0;    // best validation accuracy; ties: the lower validation loss, then the earlier epoch
  // At best_epoch, and after the last epoch that was evaluated; Statistics::kNone where none was.
  Evaluation best = kNotEvaluated, last = kNotEvaluated;
  std::vector<double> warmup_ms;  // one for each of the first epochs
  Statistics epoch_ms;            // epochs that are neither warm-up nor profiled
  StepParts parts;                // the profiled epochs
  std::optional<BatchTotals>
      batches;                  // of sampled mini-batches: the last profiled epoch, or else the last one
  Statistics wait_ms;           // BatchTotals::wait_ms of the epochs of epoch_ms
  Statistics evaluation_ms;     // one evaluation; never part of an epoch's time
  int kernels = 0;              // kernels of the captured training step; 0: none was captured
  std::int64_t peak_bytes = 0;  // of tensors on the device while training
};

}  // namespace rodeo
