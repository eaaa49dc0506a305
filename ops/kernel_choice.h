/// The choice between algorithms of one operator by measurement, independent of graphs and devices.
#pragma once

#include <functional>
#include <iosfwd>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "ops/sddmm_types.h"
#include "ops/spmm_types.h"

namespace rodeo {

/// Algorithm is SpmmAlgorithm or SddmmAlgorithm, here and below.
template <class Algorithm>
struct KernelCandidate {
  Algorithm algorithm = Algorithm::kAuto;
  double ms = std::numeric_limits<double>::quiet_NaN();  // of the fastest sample; NaN: not timed
  int runs = 0;                                          // timed runs, without the first one
  std::string remark = {};                               // why it was not timed, or not to the end
  double at_least_ms = 0;                                // a lower bound that is known without a run
  bool timed() const { return ms > 0 && ms < std::numeric_limits<double>::infinity(); }
};

template <class Algorithm>
struct KernelChoice {
  Algorithm algorithm = Algorithm::kAuto;
  enum class Source { kRule, kMeasured, kRemembered } source = Source::kRule;
  std::string reason = {};                                  // one phrase
  std::vector<KernelCandidate<Algorithm>> candidates = {};  // empty where nothing was timed
  double tuning_ms = 0;                                     // wall clock, including preparation
};
/// A line with the algorithm and the reason, then an indented line for each candidate.
template <class Algorithm>
std::ostream& operator<<(std::ostream& out, const KernelChoice<Algorithm>& choice);

/// Constants of the tuners.
struct KernelTuning {
  // Wall clock for one problem, without loading kernels: kBudgetMs, and more where a product is so long that
  // it pays to try the others.
  static constexpr double kBudgetMs = 50, kMostMs = 400;
  static constexpr double kBudgetRuns = 12;
  static constexpr double kTie = 1.02;      // candidates within this multiple of the best time count as equal
  static constexpr double kHopeless = 1.5;  // above this multiple of the best time a candidate is dropped
  static constexpr double kReserve =
      2.5;                             // a new candidate needs this multiple of the best time in the budget
  static constexpr int kSamples = 12;  // of each candidate, at most
  static constexpr double kSampleMs = 0.2;         // of shorter runs a sample is the mean of kRunsOfASample,
  static constexpr int kRunsOfASample = 8;         // because their times vary more
  static constexpr std::int64_t kSmall = 1 << 20;  // edges x columns: below it launch overhead dominates
  static_assert(kTie > 1 && kHopeless > kTie, "what is equal to the best is not dropped");
};

/// Times the candidates and chooses one. The first candidate is the default.
///   time(algorithm, runs)  milliseconds of that many runs
///   elapsed()              milliseconds since tuning began
/// The budget is max(kBudgetMs, kBudgetRuns products of the default), at most kMostMs. Starts no run that is
/// known to exceed it; where nothing can be compared, the default is chosen by
/// rule. A candidate that throws Error is left out, except the default.
template <class Algorithm>
KernelChoice<Algorithm> choose_by_time(
    std::vector<KernelCandidate<Algorithm>> candidates,
    const std::type_identity_t<std::function<double(Algorithm, int)>>& time,
    const std::function<double()>& elapsed);

/// The first candidate that takes at most kTie times as long as the fastest one; the first of all where none
/// was timed. So noise does not change the choice between equals, which would change the bits of results.
template <class Algorithm>
Algorithm first_of_fastest(const std::vector<KernelCandidate<Algorithm>>& candidates);

}  // namespace rodeo
