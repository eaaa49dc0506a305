#include "bench/explain.h"

#include <algorithm>

#include "ops/sddmm_tuner.h"
#include "ops/sparse/tca_plans.h"
#include "ops/spmm_tuner.h"
#include "ops/spmm_variant.h"
#include "ops/spmv.h"

namespace rodeo::bench {
namespace {

bool has(const BenchOptions& options, Op op) {
  return std::find(options.ops.begin(), options.ops.end(), op) != options.ops.end();
}

}  // namespace

std::string explain(const NamedGraph& graph, const BenchOptions& options) {
  const Adjacency& adj = graph.adj;
  std::string text = "explain " + graph.name + "\n";
  if (has(options, Op::kSpmm)) {
    text += explain_spmm(adj);
    for (const DType dtype : options.dtypes)
      for (const Weights weights : options.weights)
        for (const std::int64_t n : options.widths) {
          const SpmmProblem problem{n, dtype, weights != Weights::kNone, false};
          text += str("  rode, ", problem, ": ", spmm_variant(adj, problem), "\n");
        }
    for (const DType dtype : options.dtypes)
      for (const std::int64_t n : options.widths) {
        if (dtype == DType::kF64) continue;
        const MmaCount mmas = count_mmas(adj, n, dtype);
        text += str("  tca, n=", n, " ", dtype, ": ", mmas.planned, " MMAs, ", mmas.model,
                    " by the cost model\n");
      }
  }
  if (has(options, Op::kSddmm)) text += explain_sddmm(adj);
  if (has(options, Op::kSpmv)) text += str("  spmv auto: ", name(choose_spmv_algorithm(adj)), "\n");
  return text;
}

MmaCount count_mmas(const Adjacency& adj, std::int64_t n, DType dtype) {
  const auto row_ptr = adj.csr().row_ptr.to_vector<std::int64_t>();
  const TcaPlan& plan = tca_plan(adj, TcaPlan::tiles(n, size_of(dtype)));
  const TcaPlan on_host{plan.row_id_for_each_warp.to(kCpu), plan.num_warps_per_row.to(kCpu),
                        plan.warpid_within_row.to(kCpu)};
  return {model_mmas(row_ptr, (n + 15) / 16 * 16), rodeo::count_mmas(on_host, row_ptr, n, size_of(dtype))};
}

}  // namespace rodeo::bench
