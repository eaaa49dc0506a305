#include "ops/sparse/shard_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "ops/spmm_tuner.h"

namespace rodeo {

std::vector<double> of_ranks(const ShardedRows& share, double own) {
  return share.nodes->ranks()
      .all_gather(Tensor::from(std::vector{own}, share.rows.device()))
      .to_vector<double>();
}

void plan_shard(const ShardedRows& share, Aggregation wanted, bool timed, const std::string& cache) {
  const NodePartition& nodes = *share.nodes;
  ShardPlan plan;
  plan.planned = true, plan.wanted = wanted, plan.timed = timed, plan.cache = cache;
  plan.sizes.ranks = nodes.ranks().size();
  plan.sizes.nodes = nodes.num_nodes();
  const std::vector<double> edges = of_ranks(share, static_cast<double>(share.rows.num_edges()));
  const double all = std::accumulate(edges.begin(), edges.end(), 0.0);
  plan.sizes.edges = static_cast<std::int64_t>(all);
  if (all > 0) plan.sizes.imbalance = std::ranges::max(edges) * plan.sizes.ranks / all;
  if (wanted == Aggregation::kHalo || wanted == Aggregation::kAuto) {
    auto halo = std::make_shared<const HaloRows>(find_halo(share));
    const auto others = static_cast<double>(nodes.num_nodes() - nodes.num_rows());
    const auto read = static_cast<double>(halo->received.numel());
    plan.sizes.halo_share = std::ranges::max(of_ranks(share, others > 0 ? read / others : 0));
    constexpr double kNearlyAll = 0.9;
    if (wanted == Aggregation::kHalo || plan.sizes.halo_share < kNearlyAll) plan.halo = std::move(halo);
  }
  // An eighth of the memory is left to a CSR of the graph: 4 bytes an edge and 8 a row, and as much for
  // plans. Of all memory, not of what is free: the same run makes the same choice.
  const auto total = static_cast<double>(memory_room(share.rows.device()).total);
  // Constant weights of 4 bytes: two more, in both orders, the transpose, and while it is made 8 an edge.
  const double needed = 2 * (4 * all + 8 * static_cast<double>(nodes.num_nodes()));
  const double least = -std::ranges::max(of_ranks(share, -total));
  plan.whole_fits = 8 * needed < least;
  plan.weighted_fits = 8 * 3 * needed < least;
  share.rows.cached<ShardPlan>([&] { return plan; });
}

const ShardPlan& shard_plan(const Adjacency& rows) {
  return rows.cached<ShardPlan>([] { return ShardPlan(); });
}

const ShardPlan& shard_plan(const ShardedRows& share) {
  return shard_plan(share.rows);
}

std::string describe(const AggregationProblem& problem) {
  const bool is_attention = problem.heads > 0, composed = problem.kind == ProductKind::kComposedAttention;
  if (is_attention)
    return str(composed ? "composed " : "", "attention of ", problem.heads,
               problem.heads == 1 ? " head" : " heads", " of ", problem.columns / problem.heads, " columns");
  const bool constant = problem.kind == ProductKind::kConstantWeights;
  const char* const what = problem.kind == ProductKind::kSum || constant ? "sum of "
                           : problem.kind == ProductKind::kWeightedSum   ? "weighted sum of "
                                                                         : "exchange of ";
  return str(what, problem.columns, " columns", constant ? " with constant weights" : "");
}

std::string shard_note(const Adjacency& rows) {
  const ShardPlan& plan = shard_plan(rows);
  for (const auto& [problem, choice] : plan.found->choices)
    if (plan.wanted != Aggregation::kAuto && choice.form != plan.wanted)
      return str("--aggregation ", plan.wanted, " did not apply to every product: the ", describe(problem),
                 " was by ", choice.form, ", because ", choice.reason);
  return {};
}

std::string explain_shard(const Adjacency& rows) {
  constexpr Aggregation kForms[] = {Aggregation::kRows, Aggregation::kOverlap, Aggregation::kColumns,
                                    Aggregation::kHalo};
  const ShardPlan& plan = shard_plan(rows);
  std::string text;
  if (plan.planned && plan.wanted != Aggregation::kAuto) text = str("  ", plan.wanted, ", as asked for\n");
  for (const auto& [problem, choice] : plan.found->choices) {
    text += str("  ", describe(problem), ", ", problem.dtype, ": ", choice.form, ", ", choice.reason);
    for (const Aggregation form : kForms) {
      const auto predicted = choice.predicted.find(form), timed = choice.timed.find(form);
      if (predicted != choice.predicted.end())
        text += fmt::format("; {} {:.3f} ms predicted", name(form), predicted->second);
      if (timed != choice.timed.end()) text += fmt::format(", {:.3f} timed", timed->second);
    }
    text += "\n";
  }
  const ShardPlan::Found& found = *plan.found;
  const Adjacency transposed = found.transposed == found.whole ? Adjacency() : found.transposed;
  for (const Adjacency& part : {found.whole, transposed, found.local, found.remote})
    if (part.defined()) text += explain_spmm(part);
  return text;
}

}  // namespace rodeo
