#include "ops/spmm_tuner.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>

#include "core/context.h"
#include "core/stopwatch.h"
#include "ops/graph_hash.h"
#include "ops/sparse/graph_plans.h"
#include "ops/sparse/spmm_algorithms.h"
#include "ops/sparse/spmm_tuning_cache.h"
#include "ops/spmm_variant.h"

namespace rodeo {
namespace {

// Of equally fast ones, tune() takes the first. Products of 10 ms and more leave time for two: kCsr is the
// first where it can win there (usual_algorithm).
constexpr SpmmAlgorithm kCandidates[] = {SpmmAlgorithm::kRode, SpmmAlgorithm::kRodeTc, SpmmAlgorithm::kCsr,
                                         SpmmAlgorithm::kCusparse};

SpmmCandidate prepare(const Adjacency& adj, const SpmmProblem& problem, SpmmAlgorithm algorithm) {
  // One group of lanes sums a row serially. This is a lower bound of the latency per nonzero on any GPU.
  constexpr double kMsANonzero = 5e-5;
  constexpr std::int64_t kMax = std::numeric_limits<std::int32_t>::max();
  SpmmCandidate candidate{algorithm};
  if (algorithm == SpmmAlgorithm::kCsr)
    candidate.at_least_ms = kMsANonzero * static_cast<double>(row_lengths(adj).longest);
  if (algorithm == SpmmAlgorithm::kRodeTc && size_of(problem.dtype) != 2)
    candidate.remark = "only for 16-bit types";
  if (algorithm == SpmmAlgorithm::kCusparse) {
    if (!problem.allow_nondeterministic)
      candidate.remark = "its sums do not repeat bit for bit";
    else if (adj.num_edges() > kMax)
      candidate.remark = "takes at most 2^31 - 1 edges";
    else if (adj.num_edges() > adj.rows() * adj.cols())
      candidate.remark = "takes no more edges than rows x cols";
    else if (problem.n > kMax / std::max<std::int64_t>({1, adj.rows(), adj.cols()}))
      candidate.remark = "not tried on operands of 2^31 elements";
  }
  return candidate;
}

bool is_candidate(const Adjacency& adj, const SpmmProblem& problem, SpmmAlgorithm algorithm) {
  return std::ranges::find(kCandidates, algorithm) != std::end(kCandidates) &&
         prepare(adj, problem, algorithm).remark.empty();
}

struct SpmmChoices {
  std::shared_ptr<std::map<SpmmProblem, SpmmChoice>> of =
      std::make_shared<std::map<SpmmProblem, SpmmChoice>>();
};

/// Hold adj.lock_cache() while using it.
std::map<SpmmProblem, SpmmChoice>& choices_on(const Adjacency& adj) {
  return *adj.cached<SpmmChoices>([] { return SpmmChoices(); }).of;
}

// The first use of a library or kernel in a process loads it, which takes longer than many runs. That time is
// not part of the budget. An algorithm that fails here fails again when it is timed, and is reported there.
void load_kernels(Device device, const SpmmProblem& problem) {
  const Adjacency one = Adjacency::trusted({1, 1, Tensor::from(std::vector<std::int64_t>{0, 1}, device),
                                            Tensor::from(std::vector<std::int32_t>{0}, device)});
  const Tensor x = Tensor::full({1, problem.n}, 1, problem.dtype, device);
  const Tensor weight = problem.weighted ? Tensor::full({1}, 1, problem.dtype, device) : Tensor();
  const Tensor y = Tensor::empty(x.shape(), problem.dtype, device);
  for (const SpmmAlgorithm algorithm : kCandidates) {
    try {
      if (prepare(one, problem, algorithm).remark.empty()) run_spmm(algorithm, {one, weight, x, y});
    } catch (const Error&) {
    }
  }
}

SpmmChoice by_rule(const Adjacency& adj, std::string reason) {
  return {.algorithm = spmm_rule(adj), .reason = std::move(reason)};
}

// The choice where a product is too large to be timed more than once: kCsr has no advantage but on even rows.
SpmmAlgorithm usual_algorithm(const Adjacency& adj) {
  constexpr std::int64_t kEvenRow = 128, kLarge = 1 << 20;  // nonzeros of the longest row; edges
  return adj.num_edges() >= kLarge && row_lengths(adj).longest <= kEvenRow ? SpmmAlgorithm::kCsr
                                                                           : SpmmAlgorithm::kRode;
}

SpmmChoice tune(const Adjacency& adj, const SpmmProblem& problem,
                const std::function<void(SpmmAlgorithm)>& run, SpmmTuningCache& cache) {
  const SpmmTuningCache::Key key{graph_hash(adj), describe(adj.device()), problem};
  if (const auto entry = cache.find(key); entry && is_candidate(adj, problem, entry->algorithm))
    return {entry->algorithm, SpmmChoice::Source::kRemembered, "as tuned before", entry->candidates};

  using Clock = std::chrono::steady_clock;
  load_kernels(adj.device(), problem);
  synchronize(adj.device());  // earlier work on the stream is not part of the budget
  const Clock::time_point begin = Clock::now();
  const auto elapsed = [&] {
    return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  };
  std::vector<SpmmCandidate> candidates;
  for (const SpmmAlgorithm algorithm : kCandidates) candidates.push_back(prepare(adj, problem, algorithm));
  std::stable_partition(candidates.begin(), candidates.end(),  // Clang 14 refuses the one of std::ranges
                        [&](const SpmmCandidate& c) { return c.algorithm == usual_algorithm(adj); });
  const auto time = [&](SpmmAlgorithm algorithm, int runs) {
    Stopwatch stopwatch(adj.device());
    for (int i = 0; i < runs; ++i) run(algorithm);
    return stopwatch.milliseconds();
  };
  SpmmChoice choice = measure_spmm(std::move(candidates), time, elapsed);
  const SpmmTuningCache::Entry kept = cache.keep(key, {choice.algorithm, choice.candidates});
  if (kept.algorithm != choice.algorithm && is_candidate(adj, problem, kept.algorithm))
    choice = {kept.algorithm, SpmmChoice::Source::kRemembered, "as another process tuned meanwhile",
              kept.candidates};
  if (const std::string complaint = cache.complaint(); !complaint.empty())
    choice.reason += "; not kept for later runs: " + complaint;
  choice.tuning_ms = elapsed();
  return choice;
}

}  // namespace

SpmmAlgorithm spmm_rule(const Adjacency& adj) {
  if (adj.device().is_cuda()) return kCandidates[0];
  constexpr std::int64_t kLarge = 1 << 17;  // edges
  const bool uneven = adj.num_edges() >= kLarge && row_lengths(adj).longest >= adj.num_edges() / 8;
  return uneven ? SpmmAlgorithm::kRode : SpmmAlgorithm::kCsr;
}

SpmmAlgorithm choose_spmm(const Adjacency& adj, const SpmmProblem& problem,
                          const std::function<void(SpmmAlgorithm)>& run, SpmmTuningCache& cache) {
  const auto lock = adj.lock_cache();
  auto& choices = choices_on(adj);
  if (const auto at = choices.find(problem); at != choices.end()) return at->second.algorithm;
  SpmmChoice choice;
  if (!adj.device().is_cuda())
    choice = by_rule(adj, "on the CPU, from the row lengths");
  else if (adj.num_edges() < SpmmTuning::kSmall / std::max<std::int64_t>(1, problem.n))
    choice = by_rule(adj, "too small for a difference");
  else if (Context::of(adj.device()).is_capturing())
    return spmm_rule(adj);  // not cached: the first call outside of a capture tunes
  else
    choice = tune(adj, problem, run, cache);
  return choices.emplace(problem, std::move(choice)).first->second.algorithm;
}

std::string explain_spmm(const Adjacency& adj) {
  const auto lock = adj.lock_cache();
  std::string text;
  for (const auto& [problem, choice] : choices_on(adj)) {
    text += str(problem, ": ", choice);
    if (choice.algorithm == SpmmAlgorithm::kRode && adj.device().is_cuda())
      text += str("  runs ", spmm_variant(adj, problem), "\n");
  }
  return text;
}

}  // namespace rodeo
