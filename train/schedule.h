/// Learning rate schedules, with PyTorch's formulas.
#pragma once

#include <vector>

#include "core/enum_names.h"

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
  double factor = 0.1;  // kStep, kPlateau: factor of each reduction
  int period = 200;     // kCosine: epochs until the lowest rate
  double least = 0;     // kCosine, kPlateau: the lowest rate
  int patience = 10;    // kPlateau: evaluations without a lower loss before a reduction
};
template <>
inline constexpr auto kEnumNames<LrScheduleOptions::Kind> =
    enum_names<LrScheduleOptions::Kind>({{LrScheduleOptions::Kind::kNone, "none"},
                                         {LrScheduleOptions::Kind::kStep, "step"},
                                         {LrScheduleOptions::Kind::kCosine, "cosine"},
                                         {LrScheduleOptions::Kind::kPlateau, "plateau"}});

/// The learning rate of each parameter in epoch e = 1, 2, ..., from its initial rate r:
///   none     r
///   step     r factor^floor((e - 1) / step)
///   cosine   least + (r - least) (1 + cos(pi (e - 1) / period)) / 2; rises again after `period` epochs
///   plateau  multiplied by factor, but not below `least`, after patience + 1 evaluations in a row without an
///            improvement: a validation loss below (1 - 1e-4) times the lowest so far. Reductions below 1e-8
///            are ignored.
class LrSchedule {
 public:
  /// Throws Error for options out of range.
  LrSchedule(const LrScheduleOptions& options, std::vector<double> rates);

  /// The rates of an epoch. Requires that all earlier evaluations were observed.
  std::vector<double> rates(int epoch) const;
  void observe(double validation_loss);

  /// The state that rates() depends on, beside options and epoch.
  std::vector<double> state() const;
  /// Throws Error for a state of another number of parameters, and for numbers that no schedule has.
  void restore(const std::vector<double>& state);

 private:
  LrScheduleOptions options_;
  std::vector<double> first_, now_;
  double lowest_;
  int bad_ = 0;  // evaluations in a row without an improvement
};

}  // namespace rodeo
