#include "train/progress.h"

#include <cmath>

namespace rodeo {
namespace {

bool better(const Evaluation& a, const Evaluation& b) {
  return a.val > b.val || (a.val == b.val && a.val_loss < b.val_loss);
}

}  // namespace

void TrainerState::record(const Evaluation& evaluation, int of_epoch) {
  last = evaluation;
  if (!std::isfinite(evaluation.val_loss)) return;
  if (lowest_loss_epoch == 0 || evaluation.val_loss < lowest_loss) {
    lowest_loss_epoch = of_epoch;
    lowest_loss = evaluation.val_loss;
  }
  if (best_epoch > 0 && !better(evaluation, best)) return;
  best_epoch = of_epoch;
  best = evaluation;
}

bool TrainerState::is_out_of_patience(int patience, bool on_loss) const {
  return patience > 0 && epoch - (on_loss ? lowest_loss_epoch : best_epoch) >= patience;
}

}  // namespace rodeo
