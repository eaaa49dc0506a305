#include "train/schedule.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/error.h"

namespace rodeo {
namespace {
using Kind = LrScheduleOptions::Kind;
constexpr double kThreshold = 1e-4, kLeastChange = 1e-8;  // PyTorch's defaults
}  // namespace

LrSchedule::LrSchedule(const LrScheduleOptions& o, std::vector<double> rates)
    : options_(o), first_(rates), now_(std::move(rates)), lowest_(std::numeric_limits<double>::infinity()) {
  check(o.step >= 1 && o.period >= 1 && o.patience >= 0 && o.factor > 0 && o.factor <= 1 && o.least >= 0,
        "[lr_schedule] step and period must be at least 1, patience and least at least 0, factor in (0, 1]");
}

std::vector<double> LrSchedule::rates(int epoch) const {
  if (options_.kind == Kind::kNone || options_.kind == Kind::kPlateau) return now_;
  std::vector<double> rates = first_;
  const int past = epoch - 1;
  for (double& rate : rates) {
    if (options_.kind == Kind::kStep)
      rate *= std::pow(options_.factor, past / options_.step);
    else
      rate = options_.least +
             (rate - options_.least) * (1 + std::cos(std::numbers::pi * past / options_.period)) / 2;
  }
  return rates;
}

void LrSchedule::observe(double loss) {
  if (options_.kind != Kind::kPlateau) return;
  if (loss < lowest_ * (1 - kThreshold)) {
    lowest_ = loss;
    bad_ = 0;
  } else if (++bad_ > options_.patience) {
    bad_ = 0;
    for (double& rate : now_) {
      const double lower = std::max(rate * options_.factor, options_.least);
      if (rate - lower > kLeastChange) rate = lower;
    }
  }
}

std::vector<double> LrSchedule::state() const {
  std::vector<double> state = now_;
  state.insert(state.end(), {lowest_, static_cast<double>(bad_)});
  return state;
}

void LrSchedule::restore(const std::vector<double>& state) {
  check(state.size() == first_.size() + 2, "[lr_schedule] the state must have ", first_.size() + 2,
        " numbers, got ", state.size());
  // The state may be from a damaged file. lowest_ is infinite before the first evaluation.
  check(std::all_of(state.begin(), state.end() - 2,
                    [](double rate) { return rate >= 0 && std::isfinite(rate); }),
        "[lr_schedule] a rate of the state is not finite or negative");
  check(!std::isnan(state[state.size() - 2]) && state.back() >= 0 && state.back() <= options_.patience,
        "[lr_schedule] the state must end with a loss and a count of at most ", options_.patience);
  now_.assign(state.begin(), state.end() - 2);
  lowest_ = state[state.size() - 2];
  bad_ = static_cast<int>(state.back());
}

}  // namespace rodeo
