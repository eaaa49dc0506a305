#include "ops/spmm_tuner.h"

#include <algorithm>
#include <limits>

#include "core/context.h"
#include "ops/sparse/dense_block_plans.h"
#include "ops/sparse/derived.h"
#include "ops/sparse/graph_plans.h"
#include "ops/sparse/spmm_algorithms.h"
#include "ops/sparse/tune.h"
#include "ops/spmm_variant.h"

namespace rodeo {
namespace {

// tune() takes the first of equally fast candidates. Products of 10 ms and more leave time for two: kCsr is
// the first where it can win there (usual_algorithm).
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

SpmmChoice tune_spmm(const Adjacency& adj, const SpmmProblem& problem,
                     const std::function<void(SpmmAlgorithm)>& run, SpmmTuningCache& cache) {
  std::vector<SpmmCandidate> candidates;
  for (const SpmmAlgorithm algorithm : kCandidates) candidates.push_back(prepare(adj, problem, algorithm));
  std::stable_partition(candidates.begin(), candidates.end(),  // Clang 14 refuses the one of std::ranges
                        [&](const SpmmCandidate& c) { return c.algorithm == usual_algorithm(adj); });
  const auto load = [&] {
    load_kernels(adj.device(), problem);
    // The plan of dense blocks is made on the host, which takes longer than the budget.
    if (dense_form(adj, problem.dtype, {})) run(SpmmAlgorithm::kRodeTc);
  };
  const bool cusparse_in_use = has_cusparse_state(adj);
  SpmmChoice choice = tune(adj, problem, std::move(candidates), load, run, cache);
  // cuSPARSE's arrays are kept only where it was chosen, not where it was timed.
  if (!cusparse_in_use && choice.algorithm != SpmmAlgorithm::kCusparse) release_cusparse_state(adj);
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
  auto& choices = choices_on<SpmmProblem, SpmmAlgorithm>(adj);
  if (const auto at = choices.find(problem); at != choices.end()) return at->second.algorithm;
  SpmmChoice choice;
  if (assumes_no_locality(adj)) return SpmmAlgorithm::kCsr;  // used once: needs no plan, keeps no choice
  if (!adj.device().is_cuda())
    choice = by_rule(adj, "on the CPU, from the row lengths");
  else if (adj.num_edges() < SpmmTuning::kSmall / std::max<std::int64_t>(1, problem.n))
    choice = by_rule(adj, "too small for a difference");
  else if (Context::of(adj.device()).is_capturing())
    return spmm_rule(adj);  // not cached: the first call outside of a capture tunes
  else
    choice = tune_spmm(adj, problem, run, cache);
  return choices.emplace(problem, std::move(choice)).first->second.algorithm;
}

std::string explain_spmm(const Adjacency& adj) {
  const auto lock = adj.lock_cache();
  std::string text;
  for (const auto& [problem, choice] : choices_on<SpmmProblem, SpmmAlgorithm>(adj)) {
    text += str(problem, ": ", choice);
    if (!adj.device().is_cuda()) continue;
    if (const SpmmVariant variant = spmm_variant(adj, problem, choice.algorithm); !variant.launches.empty())
      text += str("  runs ", variant, "\n");
  }
  return text;
}

}  // namespace rodeo
