/// How SpmmAlgorithm::kAuto chooses. What it promises stands in spmm.h.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <limits>
#include <string>
#include <vector>

#include "core/adjacency.h"
#include "ops/spmm.h"

namespace rodeo {

class SpmmTuningCache;

/// What a choice is made for, on one graph.
struct SpmmProblem {
  std::int64_t n = 0;  // columns of X
  DType dtype = DType::kF32;
  bool weighted = false;
  bool allow_nondeterministic = false;  // Accumulate::kAtomic: bits may differ from run to run
  auto operator<=>(const SpmmProblem&) const = default;
};
/// "n=16 f32 unweighted"
std::ostream& operator<<(std::ostream& out, const SpmmProblem& problem);

struct SpmmCandidate {
  SpmmAlgorithm algorithm = SpmmAlgorithm::kAuto;
  double ms = std::numeric_limits<double>::quiet_NaN();  // of the fastest sample
  int runs = 0;                                          // that were timed, the first one not counted
  std::string remark = {};                               // why it was not timed, or not to the end
  double at_least_ms = 0;                                // known beforehand: no run can take less
  bool timed() const { return ms > 0 && ms < std::numeric_limits<double>::infinity(); }
};

struct SpmmChoice {
  SpmmAlgorithm algorithm = SpmmAlgorithm::kAuto;
  enum class Source { kRule, kMeasured, kRemembered } source = Source::kRule;
  std::string reason = {};                     // one phrase
  std::vector<SpmmCandidate> candidates = {};  // empty where nothing was timed
  double tuning_ms = 0;                        // wall clock, preparations included
};
/// A line with the algorithm and the reason, then an indented one for each candidate.
std::ostream& operator<<(std::ostream& out, const SpmmChoice& choice);

/// The tunables of the tuner.
struct SpmmTuning {
  static constexpr double kBudgetMs =
      50;  // of wall clock for one problem; loading kernels into the process aside
  static constexpr double kMargin = 0.9;    // another algorithm replaces the usual one below this share
  static constexpr double kHopeless = 1.5;  // times the best: not timed any further
  static constexpr double kReserve = 4;     // a new candidate may take so many times the best
  static constexpr int kSamples = 12;       // at most, of each candidate
  static constexpr double kSampleMs = 0.2;  // runs shorter than this are timed kRunsOfASample at a time
  static constexpr int kRunsOfASample = 8;  // so that launching does not hide what they take
  static constexpr std::int64_t kSmall = 1 << 18;  // edges x n: below it every kernel is only a launch
  static_assert(kMargin < 1 && kHopeless > 1, "only what is slower than the best is dropped");
};

/// Times candidates, the first of which is the usual choice, by `time(algorithm, runs)`: milliseconds of so
/// many runs. `elapsed()` is the wall clock since tuning began. No run is started that does not fit the
/// budget by what is known of it; so a choice may end up being made by rule. An Error that a candidate other
/// than the usual one throws takes it out.
SpmmChoice measure_spmm(std::vector<SpmmCandidate> candidates,
                        const std::function<double(SpmmAlgorithm, int)>& time,
                        const std::function<double()>& elapsed);

/// The fastest of those timed if it takes less than kMargin of what the first one takes; else the first one.
SpmmAlgorithm fastest_by_margin(const std::vector<SpmmCandidate>& candidates);

/// What kAuto stands for where nothing is timed: kRode on CUDA. On the CPU kCsr, which hands rows to threads
/// as they become free, unless one row has an eighth of a large graph's edges: then kRode, which cuts it.
SpmmAlgorithm spmm_rule(const Adjacency& adj);

/// kAuto for one product, of which run(algorithm) computes the whole. Kept on adj.
SpmmAlgorithm choose_spmm(const Adjacency& adj, const SpmmProblem& problem,
                          const std::function<void(SpmmAlgorithm)>& run, SpmmTuningCache& store);

/// All that kAuto has chosen on this graph so far: for each problem its name, then the choice as printed.
/// Empty where it was not asked yet.
std::string explain_spmm(const Adjacency& adj);

}  // namespace rodeo
