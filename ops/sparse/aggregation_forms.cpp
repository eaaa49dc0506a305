#include "ops/sparse/aggregation_forms.h"

#include <algorithm>
#include <numeric>

#include "core/error.h"
#include "ops/spmm_tuner.h"

namespace rodeo {

extern const AggregationForm kRowsForm;     // rows_form.cpp
extern const AggregationForm kColumnsForm;  // columns_form.cpp
extern const AggregationForm kHaloForm;     // halo_form.cpp

namespace {

constexpr const AggregationForm* kForms[] = {&kRowsForm, &kColumnsForm, &kHaloForm};

}  // namespace

std::span<const AggregationForm* const> aggregation_forms() {
  return kForms;
}

const AggregationForm& aggregation_form(Aggregation form) {
  for (const AggregationForm* row : kForms)
    if (row->form == form) return *row;
  fail("[aggregation] no such form: ", static_cast<int>(form));
}

bool is_chosen(const AggregationChoices& choices, Aggregation form) {
  return std::ranges::any_of(choices, [&](const auto& choice) { return choice.second.form == form; });
}

std::string what_it_supports(const AggregationForm& form) {
  return str(name(form.form), " is for ", form.supported);
}

std::string forms_of_all_products() {
  std::vector<std::string_view> names{name(Aggregation::kAuto)};
  for (const AggregationForm* row : kForms)
    if (!row->supports) names.push_back(name(row->form));
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text.append(i == 0 ? "" : i + 1 < names.size() ? ", " : " or ").append(names[i]);
  return text;
}

AggregationTime predict_aggregation(Aggregation form, const AggregationSizes& sizes,
                                    const AggregationRates& rates) {
  if (form == Aggregation::kAuto) form = predict_form(sizes, rates);
  return aggregation_form(form).cost(sizes, rates);
}

Aggregation predict_form(const AggregationSizes& sizes, const AggregationRates& rates) {
  const AggregationForm* best = kForms[0];
  for (const AggregationForm* row : kForms)
    if (row->cost(sizes, rates).ms() < best->cost(sizes, rates).ms()) best = row;
  return best->form;
}

void plan_shard(const ShardedRows& shard, Aggregation wanted, bool timed, const std::string& cache,
                const AggregationRates& rates) {
  const NodePartition& nodes = *shard.nodes;
  ShardPlan plan{.planned = true, .wanted = wanted, .timed = timed, .cache = cache, .rates = rates};
  plan.sizes.ranks = nodes.ranks().size();
  plan.sizes.nodes = nodes.num_nodes();
  const std::vector<std::int64_t> edges = edges_of_ranks(shard);
  plan.sizes.edges = std::accumulate(edges.begin(), edges.end(), std::int64_t{0});
  const auto all = static_cast<double>(plan.sizes.edges);
  if (all > 0) plan.sizes.imbalance = static_cast<double>(std::ranges::max(edges)) * plan.sizes.ranks / all;
  for (const AggregationForm* row : kForms)
    if (row->prepare && (wanted == Aggregation::kAuto || wanted == row->form)) row->prepare(shard, plan);
  // A CSR has 4 bytes an edge and 8 a row, and plans take as much.
  plan.graph_bytes = 2 * (4 * all + 8 * static_cast<double>(nodes.num_nodes()));
  const auto total = static_cast<double>(memory_room(shard.rows.device()).total);
  plan.memory_bytes = -std::ranges::max(of_ranks(shard, -total));
  shard.rows.cached<ShardPlan>([&] { return plan; });
}

}  // namespace rodeo
