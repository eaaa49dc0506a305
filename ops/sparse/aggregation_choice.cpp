#include "ops/sparse/aggregation_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "core/cuda_graph.h"
#include "core/stopwatch.h"
#include "ops/graph_hash.h"
#include "ops/sparse/aggregation_cache.h"
#include "ops/spmm_tuner.h"

namespace rodeo {
namespace {

bool supports(const AggregationForm& form, const AggregationProblem& problem) {
  return !form.supports || form.supports(problem);
}

bool is_candidate(const AggregationForm& form, const ShardedRows& shard, const AggregationProblem& problem) {
  if (form.gpus_only && !shard.rows.device().is_cuda() && !shard_plan(shard).timed) return false;
  return supports(form, problem) && (!form.is_candidate || form.is_candidate(shard, problem));
}

AggregationChoice predict(const ShardedRows& shard, const AggregationProblem& problem) {
  AggregationChoice choice{.form = Aggregation::kRows, .reason = "predicted", .predicted = {}, .timed = {}};
  AggregationSizes sizes = shard_plan(shard).sizes;
  sizes.columns = problem.columns, sizes.element_bytes = size_of(problem.dtype);
  sizes.heads = problem.heads;
  if (problem.kind == ProductKind::kConstantWeights || problem.kind == ProductKind::kWeightedSum)
    sizes.weight_bytes = sizes.element_bytes;
  for (const AggregationForm* form : aggregation_forms()) {
    if (!is_candidate(*form, shard, problem)) continue;
    const double ms = form->cost(sizes, shard_plan(shard).rates).ms();
    choice.predicted[form->form] = ms;
    if (ms < choice.predicted[choice.form]) choice.form = form->form;
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
std::map<Aggregation, double> time_forms(const ShardedRows& shard, const std::vector<Aggregation>& forms,
                                         const std::function<void(const AggregationForm&)>& run) {
  constexpr int kRuns = 5;
  std::map<Aggregation, double> timed;
  for (const Aggregation form : forms) {
    const AggregationForm& row = aggregation_form(form);
    run(row);  // makes plans
    double best = std::numeric_limits<double>::infinity();
    for (int i = 0; i < kRuns; ++i) {
      of_ranks(shard, 0);
      Stopwatch stopwatch(shard.rows.device());
      run(row);
      best = std::min(best, std::ranges::max(of_ranks(shard, stopwatch.milliseconds())));
    }
    timed[form] = best;
  }
  return timed;
}

AggregationCache::Key key_of(const ShardedRows& shard, const AggregationProblem& problem) {
  const Device device = shard.rows.device();
  const std::uint64_t local = graph_hash(shard.rows);
  const Tensor hash = Tensor::from(std::vector{static_cast<std::int64_t>(local)}, device);
  AggregationCache::Key key;
  const Communicator& ranks = shard.nodes->ranks();
  const std::vector<std::int64_t> all = ranks.all_gather(hash).to_vector<std::int64_t>();
  for (std::size_t r = 0; r < all.size(); ++r) key.graph += mix(r, static_cast<std::uint64_t>(all[r]));
  key.product = str(describe(device), ", ", ranks.size(), " ranks, ", describe(problem), ", ", problem.dtype);
  return key;
}

/// What rank 0 found in its cache; none where it is no candidate.
std::optional<Aggregation> remembered(const ShardedRows& shard, const AggregationCache& cache,
                                      const AggregationCache::Key& key, AggregationChoice& choice) {
  constexpr std::int32_t kNone = -1;
  const Communicator& ranks = shard.nodes->ranks();
  std::int32_t found = kNone;
  if (ranks.rank() == 0)
    if (const auto entry = cache.find(key); entry && choice.predicted.contains(entry->form)) {
      found = static_cast<std::int32_t>(entry->form);
      choice.timed = entry->timed;
    }
  const Tensor sent = Tensor::from(std::vector{found}, shard.rows.device());
  ranks.broadcast(sent);
  const auto form = static_cast<std::int32_t>(sent.item());
  return form == kNone ? std::nullopt : std::optional(static_cast<Aggregation>(form));
}

void compare(const ShardedRows& shard, const AggregationProblem& problem, AggregationChoice& choice,
             const std::function<void(const AggregationForm&)>& run) {
  const std::vector<Aggregation> near = near_fastest(choice);
  if (near.size() < 2) return;
  const AggregationCache cache(shard_plan(shard).cache);
  const AggregationCache::Key key = key_of(shard, problem);
  if (const auto form = remembered(shard, cache, key, choice)) {
    choice.form = *form;
    choice.reason = "as timed before";
    return;
  }
  choice.timed = time_forms(shard, near, run);
  choice.form = clearly_fastest(choice.form, choice.timed);
  choice.reason = "timed";
  if (shard.nodes->ranks().rank() > 0) return;
  const std::string complaint = cache.keep(key, {choice.form, choice.timed});
  if (!complaint.empty()) choice.reason += ", not kept for later runs: " + complaint;
}

}  // namespace

Aggregation clearly_fastest(Aggregation predicted, const std::map<Aggregation, double>& timed) {
  Aggregation best = predicted;
  double limit = timed.at(predicted) / kClearlyFaster;
  for (const auto& [form, ms] : timed)
    if (form != predicted && ms < limit) best = form, limit = ms;
  return best;
}

const AggregationForm& choose_aggregation(const ShardedRows& shard, const AggregationProblem& problem,
                                          const std::function<void(const AggregationForm&)>& run) {
  const ShardPlan& plan = shard_plan(shard);
  AggregationChoices& choices = *plan.choices;
  if (const auto at = choices.find(problem); at != choices.end()) return aggregation_form(at->second.form);
  if (plan.wanted != Aggregation::kAuto) {
    const AggregationForm& wanted = aggregation_form(plan.wanted);
    check(supports(wanted, problem), "aggregation by ", what_it_supports(wanted), ": choose ",
          forms_of_all_products());
    return wanted;
  }
  AggregationChoice choice = predict(shard, problem);
  if (plan.timed) {
    // Not kept: a later call chooses.
    if (is_capturing(shard.rows.device())) return aggregation_form(Aggregation::kRows);
    compare(shard, problem, choice, run);
  }
  const Aggregation chosen = choices.emplace(problem, std::move(choice)).first->second.form;
  for (const AggregationForm* form : aggregation_forms())
    if (form->release) form->release(shard.rows, choices);
  return aggregation_form(chosen);
}

std::string explain_choices(const Adjacency& rows) {
  const ShardPlan& plan = shard_plan(rows);
  std::string text;
  if (plan.planned && plan.wanted != Aggregation::kAuto) text = str("  ", plan.wanted, ", as asked for\n");
  if (plan.timed && plan.wanted == Aggregation::kAuto)
    text += fmt::format("  rows arrive in {:.3f} ms and at {:.3g} GB/s\n", plan.rates.exchange_ms,
                        plan.rates.exchange_bytes / 1e6);
  for (const auto& [problem, choice] : *plan.choices) {
    text += str("  ", describe(problem), ", ", problem.dtype, ": ", choice.form, ", ", choice.reason);
    for (const AggregationForm* form : aggregation_forms()) {
      const auto predicted = choice.predicted.find(form->form), timed = choice.timed.find(form->form);
      if (predicted != choice.predicted.end())
        text += fmt::format("; {} {:.3f} ms predicted", name(form->form), predicted->second);
      if (timed != choice.timed.end()) text += fmt::format(", {:.3f} timed", timed->second);
    }
    text += "\n";
  }
  for (const AggregationForm* form : aggregation_forms())
    if (form->graphs)
      for (const Adjacency& graph : form->graphs(rows)) text += explain_spmm(graph);
  return text;
}

}  // namespace rodeo
