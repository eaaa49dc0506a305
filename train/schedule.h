/// Learning rates that change from epoch to epoch, by PyTorch's formulas.
#pragma once

#include <string_view>
#include <vector>

namespace rodeo {

struct LrScheduleOptions {
  enum class Kind {
    kNone,
    kStep,     // torch.optim.lr_scheduler.StepLR
    kCosine,   // CosineAnnealingLR
    kPlateau,  // ReduceLROnPlateau
  };
  Kind kind = Kind::kNone;
  int step = 50;        // kStep: epochs between reductions
  double factor = 0.1;  // kStep, kPlateau: what the rate is multiplied by
  int period = 200;     // kCosine: epochs from the first rate to the least
  double least = 0;     // kCosine, kPlateau
  int patience = 10;    // kPlateau: evaluations without a lower loss that are borne
};
std::string_view name(LrScheduleOptions::Kind kind);  // "none"
LrScheduleOptions::Kind parse_lr_schedule(std::string_view text);

/// The rate of each parameter from its rate of the first epoch, r; e counts epochs from 1:
///   none     r
///   step     r factor^floor((e - 1) / step)
///   cosine   least + (r - least) (1 + cos(pi (e - 1) / period)) / 2, which rises again after `period` epochs
///   plateau  times factor, but not below `least`, after each patience + 1 evaluations in a row whose
///   validation
///            loss is not below (1 - 1e-4) times the lowest so far; a change of less than 1e-8 is none
class LrSchedule {
 public:
  /// Throws Error for options out of range.
  LrSchedule(const LrScheduleOptions& options, std::vector<double> rates);

  /// Of epoch e, after all evaluations before it were observed.
  std::vector<double> rates(int epoch) const;
  void observe(double validation_loss);

  /// What rates() depends on but for options and epoch.
  std::vector<double> state() const;
  /// Throws Error for what is no state of such a schedule.
  void restore(const std::vector<double>& state);

 private:
  LrScheduleOptions options_;
  std::vector<double> first_, now_;
  double lowest_;
  int bad_ = 0;  // evaluations in a row
};

}  // namespace rodeo
