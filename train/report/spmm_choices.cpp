#include "train/report/spmm_choices.h"

#include "ops/aggregation.h"
#include "ops/convert.h"
#include "ops/sddmm_tuner.h"
#include "ops/spmm_tuner.h"
#include "ops/spmm_variant.h"
#include "train/task/model_registry.h"

namespace rodeo {

std::string format_aggregation_choices(const Adjacency& adj) {
  const std::string text = explain_aggregation(adj);
  return text.empty() ? text : "aggregation over ranks:\n" + text;
}

std::string format_spmm_choices(SpmmAlgorithm requested, const Adjacency& adj) {
  const bool is_auto = requested == SpmmAlgorithm::kAuto;
  const auto explain = is_auto ? explain_spmm : explain_rode;
  const Adjacency transposed = transpose_pattern(adj);
  std::string text = format_aggregation_choices(adj);
  text += is_auto ? "spmm auto, the graph:\n" : str("spmm ", requested, ": asked for\n");
  text += explain(adj);
  if (transposed == adj) return text;
  const std::string of_transpose = explain(transposed);
  if (is_auto || !of_transpose.empty()) text += str("spmm ", requested, ", its transpose:\n", of_transpose);
  return text;
}

std::string format_sddmm_choices(SddmmAlgorithm requested, const Adjacency& adj) {
  const std::string text = format_aggregation_choices(adj);
  if (requested != SddmmAlgorithm::kAuto) return str(text, "sddmm ", requested, ": asked for\n");
  return text + "sddmm auto, the graph:\n" + explain_sddmm(adj.is_sharded() ? adj.shard()->rows : adj);
}

std::string format_choices(const TrainOptions& options, const Adjacency& adj) {
  const ConvTraits& traits = traits_of(options);
  if (composes_attention(options)) {
    const std::string text = format_sddmm_choices(options.sddmm, adj);
    if (options.spmm != SpmmAlgorithm::kAuto) return text;
    return str(text, "spmm auto: ", spmm_rule(adj.is_sharded() ? adj.shard()->rows : adj),
               ", by rule: several heads\n");
  }
  const SpmmAlgorithm spmm = spmm_of_steps(options);
  const bool has_choices = !traits.heads && spmm == options.spmm &&
                           !(traits.aggr && (options.aggr == Reduce::kMax || options.aggr == Reduce::kMin));
  return has_choices ? format_spmm_choices(spmm, adj) : format_aggregation_choices(adj);
}

}  // namespace rodeo
