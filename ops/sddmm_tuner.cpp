#include "ops/sddmm_tuner.h"

#include "core/context.h"
#include "ops/kernels/sparse.h"
#include "ops/plan/sddmm_config.h"
#include "ops/sparse/derived.h"
#include "ops/sparse/graph_plans.h"
#include "ops/sparse/tune.h"

namespace rodeo {
namespace {

void load_kernels(Device device, const SddmmProblem& problem) {
  const Adjacency one = Adjacency::trusted({1, 1, Tensor::from(std::vector<std::int64_t>{0, 1}, device),
                                            Tensor::from(std::vector<std::int32_t>{0}, device)});
  const Tensor b = Tensor::full({1, problem.heads, problem.k}, 1, problem.dtype, device);
  const Tensor weight = problem.weighted ? Tensor::full({1}, 1, problem.dtype, device) : Tensor();
  const Tensor out = Tensor::empty({1, problem.heads}, problem.dtype, device);
  for (const SddmmAlgorithm algorithm : {SddmmAlgorithm::kRows, SddmmAlgorithm::kEdges})
    kernels::sddmm_dot.on(device)(one, weight, b, b, algorithm, out);
}

SddmmChoice tune_sddmm(const Adjacency& adj, const SddmmProblem& problem,
                       const std::function<void(SddmmAlgorithm)>& run, SddmmTuningCache& cache) {
  // The rule's choice wins a tie.
  const SddmmAlgorithm usual = sddmm_rule(adj, problem);
  const SddmmAlgorithm other =
      usual == SddmmAlgorithm::kRows ? SddmmAlgorithm::kEdges : SddmmAlgorithm::kRows;
  return tune(
      adj, problem, std::vector<SddmmCandidate>{{usual}, {other}},
      [&] { load_kernels(adj.device(), problem); }, run, cache);
}

}  // namespace

SddmmAlgorithm sddmm_rule(const Adjacency& adj, const SddmmProblem& problem) {
  if (!adj.device().is_cuda()) return SddmmAlgorithm::kRows;
  const std::size_t element_bytes = size_of(problem.dtype);
  const double reuse = row_locality(adj).reused_fraction();
  // The longest row decides nothing for other graphs, and the first call for it waits for the device.
  const bool needs_longest = adj.num_edges() >= 32 * adj.rows() || (problem.weighted && reuse > 0);
  return choose_sddmm_algorithm(
      {.rows = adj.rows(),
       .cols = adj.cols(),
       .edges = adj.num_edges(),
       .heads = problem.heads,
       .k = problem.k,
       .element_bytes = element_bytes,
       .b1_is_aligned = problem.k * static_cast<std::int64_t>(element_bytes) % 16 == 0,
       .has_clusters = row_clusters(adj).defined(),
       .reuse = reuse,
       .longest_row = needs_longest ? row_lengths(adj).longest : 0,
       .weighted = problem.weighted});
}

SddmmAlgorithm choose_sddmm(const Adjacency& adj, const SddmmProblem& problem,
                            const std::function<void(SddmmAlgorithm)>& run, SddmmTuningCache& cache) {
  const auto lock = adj.lock_cache();
  if (assumes_no_locality(adj)) return sddmm_rule(adj, problem);  // a graph that is used once keeps no choice
  auto& choices = choices_on<SddmmProblem, SddmmAlgorithm>(adj);
  if (const auto at = choices.find(problem); at != choices.end()) return at->second.algorithm;
  SddmmChoice choice;
  if (!adj.device().is_cuda()) {
    choice = {.algorithm = sddmm_rule(adj, problem), .reason = "one loop on the CPU"};
  } else if (adj.num_edges() < KernelTuning::kSmall / std::max<std::int64_t>(1, problem.heads * problem.k)) {
    choice = {.algorithm = sddmm_rule(adj, problem), .reason = "too small for a difference"};
  } else if (Context::of(adj.device()).is_capturing()) {
    return sddmm_rule(adj, problem);  // not cached: the first call outside of a capture tunes
  } else {
    const bool edge_rows_in_use = has_cached_edge_rows(adj);
    choice = tune_sddmm(adj, problem, run, cache);
    // The row of every edge is kept where kEdges was chosen, not where it was timed.
    if (!edge_rows_in_use && choice.algorithm != SddmmAlgorithm::kEdges) release_edge_rows(adj);
  }
  return choices.emplace(problem, std::move(choice)).first->second.algorithm;
}

std::string explain_sddmm(const Adjacency& adj) {
  const auto lock = adj.lock_cache();
  std::string text;
  for (const auto& [problem, choice] : choices_on<SddmmProblem, SddmmAlgorithm>(adj))
    text += str(problem, ": ", choice);
  return text;
}

}  // namespace rodeo
