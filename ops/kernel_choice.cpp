#include "ops/kernel_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "core/error.h"
#include "core/text.h"

namespace rodeo {
namespace {

template <class Algorithm>
double best_ms(const std::vector<KernelCandidate<Algorithm>>& candidates) {
  double best = std::numeric_limits<double>::infinity();
  for (const auto& c : candidates)
    if (c.timed()) best = std::min(best, c.ms);
  return best;
}

// Times one sample and keeps the fastest, because disturbances only make runs longer.
template <class Algorithm>
void sample(KernelCandidate<Algorithm>& c, int runs, const std::function<double(Algorithm, int)>& time) {
  const double ms = time(c.algorithm, runs) / runs;
  if (!(c.ms <= ms)) c.ms = ms;
  c.runs += runs;
}

template <class Algorithm>
std::string reason_for(const KernelChoice<Algorithm>& choice) {
  const KernelCandidate<Algorithm>& usual = choice.candidates.front();
  const double best = best_ms(choice.candidates);
  for (const auto& c : choice.candidates)
    if (c.algorithm == choice.algorithm && c.algorithm != usual.algorithm)
      return fmt::format("{:.2f}x as fast as {}", usual.ms / c.ms, name(usual.algorithm));
  return usual.ms <= best ? "the fastest"
                          : fmt::format("nothing else is faster by {:.0f} %", 100 * (KernelTuning::kTie - 1));
}

}  // namespace

template <class Algorithm>
Algorithm first_of_fastest(const std::vector<KernelCandidate<Algorithm>>& candidates) {
  const double limit = best_ms(candidates) * KernelTuning::kTie;
  for (const auto& c : candidates)
    if (c.timed() && c.ms <= limit) return c.algorithm;
  return candidates.front().algorithm;
}

template <class Algorithm>
KernelChoice<Algorithm> choose_by_time(
    std::vector<KernelCandidate<Algorithm>> candidates,
    const std::type_identity_t<std::function<double(Algorithm, int)>>& time,
    const std::function<double()>& elapsed) {
  using T = KernelTuning;
  using Candidate = KernelCandidate<Algorithm>;
  using Choice = KernelChoice<Algorithm>;
  double budget = T::kMostMs;
  const auto left = [&] { return budget - elapsed(); };
  Candidate& usual = candidates.front();
  // The first run also builds plans and loads kernels, so it is an upper bound for the next one.
  const double first = time(usual.algorithm, 1);
  if (first > left()) {
    usual.remark = fmt::format("{:.1f} ms for the first run", first);
    std::string reason = fmt::format("no second run fits the {:.0f} ms of tuning", budget);
    return {usual.algorithm, Choice::Source::kRule, std::move(reason), std::move(candidates), elapsed()};
  }
  sample(usual, 1, time);
  budget = std::clamp(T::kBudgetRuns * usual.ms, T::kBudgetMs, T::kMostMs);

  std::vector<Candidate*> live{&usual};
  for (Candidate& c : candidates) {
    if (&c == &usual || !c.remark.empty()) continue;
    const double best = best_ms(candidates);
    if (c.at_least_ms > T::kHopeless * best) {
      c.remark = fmt::format("takes {:.3f} ms at least, by its longest row", c.at_least_ms);
      continue;
    }
    if (T::kReserve * best > left()) {
      c.remark = fmt::format("not timed: {:.1f} ms are left", std::max(0.0, left()));
      continue;
    }
    try {
      const double cold = time(c.algorithm, 1);
      if (cold > left()) {
        c.remark = fmt::format("{:.1f} ms for the first run: no time for a second", cold);
        continue;
      }
      sample(c, 1, time);
    } catch (const Error& error) {
      c.remark = error.what();
      continue;
    }
    live.push_back(&c);
  }

  // Candidates take turns, so that a changing clock rate favours none.
  const int runs = usual.ms < T::kSampleMs ? T::kRunsOfASample : 1;
  for (int round = 0; round < T::kSamples && live.size() > 1; ++round) {
    double cost = 0;
    for (const Candidate* c : live) cost += c->ms * runs;
    if (cost > left()) break;
    for (Candidate* c : live) sample(*c, runs, time);
    const double best = best_ms(candidates);
    std::erase_if(live, [&](Candidate* c) {
      const bool hopeless = c != &usual && c->ms > T::kHopeless * best;
      if (hopeless) c->remark = "dropped";
      return hopeless;
    });
  }

  const bool compared = std::ranges::count_if(candidates, &Candidate::timed) > 1;
  Choice choice{first_of_fastest(candidates), compared ? Choice::Source::kMeasured : Choice::Source::kRule,
                "nothing else could be timed", std::move(candidates), elapsed()};
  if (compared) choice.reason = reason_for(choice);
  return choice;
}

template <class Algorithm>
std::ostream& operator<<(std::ostream& out, const KernelChoice<Algorithm>& choice) {
  constexpr const char* kSources[] = {"by rule", "measured", "remembered"};
  out << choice.algorithm << ", " << kSources[static_cast<int>(choice.source)] << ": " << choice.reason;
  if (choice.tuning_ms > 0) out << fmt::format(" ({:.1f} ms of tuning)", choice.tuning_ms);
  out << '\n';
  for (const auto& c : choice.candidates) {
    out << fmt::format("  {:<10}", name(c.algorithm));
    if (c.timed()) out << fmt::format("{:>9.4f} ms", c.ms);
    if (c.runs > 0) out << ", " << count_of(c.runs, "run");
    if (!c.remark.empty()) out << (c.timed() ? ", " : "") << c.remark;
    out << '\n';
  }
  return out;
}

#define RODEO_CHOICES_OF(Algorithm)                                                             \
  template Algorithm first_of_fastest(const std::vector<KernelCandidate<Algorithm>>&);          \
  template KernelChoice<Algorithm> choose_by_time(std::vector<KernelCandidate<Algorithm>>,      \
                                                  const std::function<double(Algorithm, int)>&, \
                                                  const std::function<double()>&);              \
  template std::ostream& operator<<(std::ostream&, const KernelChoice<Algorithm>&);
RODEO_CHOICES_OF(SpmmAlgorithm)
RODEO_CHOICES_OF(SddmmAlgorithm)
#undef RODEO_CHOICES_OF

}  // namespace rodeo
