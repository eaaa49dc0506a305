#include "ops/sparse/aggregation_choice.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "core/cuda_graph.h"
#include "core/stopwatch.h"
#include "ops/graph_hash.h"
#include "ops/sparse/aggregation_cache.h"

namespace rodeo {
namespace {

bool has_columns(const AggregationProblem& problem) {
  return problem.kind != ProductKind::kExchange && problem.kind != ProductKind::kWeightedSum;
}

bool has_overlap(const AggregationProblem& problem, bool symmetric) {
  return problem.parts > 1 || (problem.kind == ProductKind::kSum && symmetric);
}

std::vector<Aggregation> candidates(const ShardPlan& plan, const AggregationProblem& problem, bool symmetric,
                                    Device device) {
  std::vector<Aggregation> forms{Aggregation::kRows};
  if (plan.halo) forms.push_back(Aggregation::kHalo);
  // On the CPU a rank multiplies no faster because its rows are shorter, and nothing overlaps.
  if (!(device.is_cuda() || plan.timed)) return forms;
  // A sum that cuts the edges stores the rank's rows twice.
  const bool fits = plan.whole_fits || problem.parts > 1;
  if (fits && has_overlap(problem, symmetric)) forms.push_back(Aggregation::kOverlap);
  const bool weighted = problem.kind == ProductKind::kConstantWeights;
  if ((weighted ? plan.weighted_fits : plan.whole_fits) && has_columns(problem))
    forms.push_back(Aggregation::kColumns);
  return forms;
}

AggregationChoice predict(const ShardedRows& share, const AggregationProblem& problem) {
  const ShardPlan& plan = shard_plan(share);
  AggregationChoice choice{.form = Aggregation::kRows, .reason = "predicted", .predicted = {}, .timed = {}};
  AggregationSizes sizes = plan.sizes;
  sizes.columns = problem.columns, sizes.element_bytes = size_of(problem.dtype);
  sizes.heads = problem.heads, sizes.parts = problem.parts;
  if (problem.kind == ProductKind::kConstantWeights || problem.kind == ProductKind::kWeightedSum)
    sizes.weight_bytes = sizes.element_bytes;
  for (const Aggregation form : candidates(plan, problem, share.symmetric, share.rows.device())) {
    choice.predicted[form] = predict_aggregation(form, sizes).ms();
    if (choice.predicted[form] < choice.predicted[choice.form]) choice.form = form;
  }
  return choice;
}

/// The forms that are predicted to be nearly as fast as the fastest.
std::vector<Aggregation> near_fastest(const AggregationChoice& choice) {
  constexpr double kNear = 1.5;
  std::vector<Aggregation> near;
  for (const auto& [form, ms] : choice.predicted)
    if (ms <= kNear * choice.predicted.at(choice.form)) near.push_back(form);
  return near;
}

/// The fastest of some runs of each form, on the slowest rank. Disturbances only make runs longer.
std::map<Aggregation, double> time_forms(const ShardedRows& share, const std::vector<Aggregation>& forms,
                                         const std::function<void(Aggregation)>& run) {
  constexpr int kRuns = 5;
  std::map<Aggregation, double> timed;
  for (const Aggregation form : forms) {
    run(form);  // makes plans
    double best = std::numeric_limits<double>::infinity();
    for (int i = 0; i < kRuns; ++i) {
      of_ranks(share, 0);
      Stopwatch stopwatch(share.rows.device());
      run(form);
      best = std::min(best, std::ranges::max(of_ranks(share, stopwatch.milliseconds())));
    }
    timed[form] = best;
  }
  return timed;
}

AggregationCache::Key key_of(const ShardedRows& share, const AggregationProblem& problem) {
  const Device device = share.rows.device();
  const std::uint64_t own = graph_hash(share.rows);
  const Tensor hash = Tensor::from(std::vector{static_cast<std::int64_t>(own)}, device);
  AggregationCache::Key key;
  const Communicator& ranks = share.nodes->ranks();
  const std::vector<std::int64_t> all = ranks.all_gather(hash).to_vector<std::int64_t>();
  for (std::size_t r = 0; r < all.size(); ++r) key.graph += mix(r, static_cast<std::uint64_t>(all[r]));
  key.product = str(describe(device), ", ", ranks.size(), " ranks, ", describe(problem), ", ", problem.dtype);
  return key;
}

/// What rank 0 found in its cache; none where it is no candidate.
std::optional<Aggregation> remembered(const ShardedRows& share, const AggregationCache& cache,
                                      const AggregationCache::Key& key, AggregationChoice& choice) {
  constexpr std::int32_t kNone = -1;
  const Communicator& ranks = share.nodes->ranks();
  std::int32_t found = kNone;
  if (ranks.rank() == 0)
    if (const auto entry = cache.find(key); entry && choice.predicted.contains(entry->form)) {
      found = static_cast<std::int32_t>(entry->form);
      choice.timed = entry->timed;
    }
  const Tensor sent = Tensor::from(std::vector{found}, share.rows.device());
  ranks.broadcast(sent);
  const auto form = static_cast<std::int32_t>(sent.item());
  return form == kNone ? std::nullopt : std::optional(static_cast<Aggregation>(form));
}

void compare(const ShardedRows& share, const AggregationProblem& problem, AggregationChoice& choice,
             const std::function<void(Aggregation)>& run) {
  const std::vector<Aggregation> near = near_fastest(choice);
  if (near.size() < 2) return;
  const AggregationCache cache(shard_plan(share).cache);
  const AggregationCache::Key key = key_of(share, problem);
  if (const auto form = remembered(share, cache, key, choice)) {
    choice.form = *form;
    choice.reason = "as timed before";
    return;
  }
  choice.timed = time_forms(share, near, run);
  choice.form = clearly_fastest(choice.form, choice.timed);
  choice.reason = "timed";
  if (share.nodes->ranks().rank() > 0) return;
  const std::string complaint = cache.keep(key, {choice.form, choice.timed});
  if (!complaint.empty()) choice.reason += ", not kept for later runs: " + complaint;
}

/// The graphs that no chosen form reads.
void free_losers(ShardPlan::Found& found) {
  const auto is_chosen = [&](Aggregation form) {
    return std::ranges::any_of(found.choices, [&](const auto& of) { return of.second.form == form; });
  };
  const bool weighted = std::ranges::any_of(found.choices, [](const auto& of) {
    return of.first.kind == ProductKind::kConstantWeights && of.second.form == Aggregation::kColumns;
  });
  if (!weighted) {
    for (ConstantWeight& of : found.weights) of.whole = of.transposed = {};
    found.transposed = {};
  }
  if (!is_chosen(Aggregation::kColumns)) found.whole = {};
  if (!is_chosen(Aggregation::kOverlap)) found.local = found.remote = {};
}

}  // namespace

Aggregation clearly_fastest(Aggregation predicted, const std::map<Aggregation, double>& timed) {
  Aggregation best = predicted;
  double limit = timed.at(predicted) / kClearlyFaster;
  for (const auto& [form, ms] : timed)
    if (form != predicted && ms < limit) best = form, limit = ms;
  return best;
}

Aggregation choose_aggregation(const ShardedRows& share, const AggregationProblem& problem,
                               const std::function<void(Aggregation)>& run) {
  const ShardPlan& plan = shard_plan(share);
  auto& choices = plan.found->choices;
  if (const auto at = choices.find(problem); at != choices.end()) return at->second.form;
  if (plan.wanted == Aggregation::kColumns)
    check(has_columns(problem),
          "aggregation by columns is for sums and means without edge weights or with constant ones, and for "
          "the attention of GAT: choose auto, rows or halo");
  if (plan.wanted == Aggregation::kOverlap && !has_overlap(problem, share.symmetric)) {
    constexpr const char* kWhy =
        "overlap is for sums and means without edge weights of symmetric graphs, and for other sums and "
        "fused "
        "attention in at least two parts of 128 bytes a row";
    return choices.emplace(problem, AggregationChoice{Aggregation::kRows, kWhy, {}, {}}).first->second.form;
  }
  if (plan.wanted != Aggregation::kAuto) return plan.wanted;
  AggregationChoice choice = predict(share, problem);
  if (plan.timed) {
    if (is_capturing(share.rows.device())) return Aggregation::kRows;  // not kept: a later call chooses
    compare(share, problem, choice, run);
  }
  const Aggregation form = choices.emplace(problem, std::move(choice)).first->second.form;
  free_losers(*plan.found);
  return form;
}

}  // namespace rodeo
