/// How far a run is, and its best epoch.
#pragma once

#include <vector>

#include "train/epoch_report.h"
#include "train/optimizer.h"

namespace rodeo {

/// The state of training, apart from the model's parameters and buffers (Module::state_dict). Random numbers
/// are a function of seed, step and position in the step. So the optimizer's step count is the state of the
/// random generator.
struct TrainerState {
  int epoch = 0;  // the last epoch that ran
  // Mini-batches of the next epoch that ran, and the sum of their terms x mean losses.
  int batch = 0;
  double batch_loss = 0;
  int best_epoch = 0;
  int lowest_loss_epoch = 0;  // of the lowest validation loss, the first of equal ones; 0: none yet
  double lowest_loss = 0;     // there
  Evaluation best, last;
  OptimizerState optimizer;
  std::vector<double> schedule;  // LrSchedule::state() of kPlateau; else empty

  /// Takes in the evaluation of an epoch. The best one has the highest validation metric; ties: the lower
  /// loss, then the earlier epoch. One whose loss is not finite is never the best.
  void record(const Evaluation& evaluation, int of_epoch);
  /// Whether `patience` epochs ended without a better one, or with on_loss without a lower loss; 0: never.
  bool is_out_of_patience(int patience, bool on_loss) const;
};

}  // namespace rodeo
