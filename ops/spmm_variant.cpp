#include "ops/spmm_variant.h"

#include <memory>
#include <set>
#include <tuple>

#include "core/context.h"
#include "ops/plan/residual_bins.h"
#include "ops/plan/rode_variant.h"
#include "ops/sparse/dense_block_plans.h"
#include "ops/sparse/graph_plans.h"
#include "ops/sparse/spmm_products.h"

namespace rodeo {
namespace {

using Product = std::tuple<SpmmAlgorithm, SpmmProblem, RodeOptions>;
struct RodeProducts {
  std::shared_ptr<std::set<Product>> all = std::make_shared<std::set<Product>>();
};

/// Hold adj.lock_cache() while using it.
std::set<Product>& products_of(const Adjacency& adj) {
  return *adj.cached<RodeProducts>([] { return RodeProducts(); }).all;
}

}  // namespace

bool is_only_cuda(SpmmAlgorithm algorithm) {
  return rounds_to_tf32(algorithm) || algorithm == SpmmAlgorithm::kCusparse;
}

bool rounds_to_tf32(SpmmAlgorithm algorithm) {
  return algorithm == SpmmAlgorithm::kRodeTc || algorithm == SpmmAlgorithm::kTca;
}

std::ostream& operator<<(std::ostream& out, const SpmmVariant& variant) {
  out << variant.name;
  return variant.launches.empty() ? out : out << " (" << variant.launches << ")";
}

SpmmVariant spmm_variant(const Adjacency& adj, const SpmmProblem& problem, SpmmAlgorithm algorithm,
                         const RodeOptions& options) {
  check(algorithm != SpmmAlgorithm::kAuto, "[spmm_variant] algorithm must not be auto: choose one by name");
  if (algorithm == SpmmAlgorithm::kRodeTc && adj.device().is_cuda())
    if (const DenseBlocks* blocks = dense_form(adj, problem.dtype, options))
      return {name(algorithm), str("dense blocks: ", *blocks)};
  if (algorithm != SpmmAlgorithm::kRode || !adj.device().is_cuda()) return {name(algorithm), {}};
  const RodePlan& plan = rode_plan(adj, options);
  const SpmmSizes sizes{.rows = adj.rows(),
                        .cols = adj.cols(),
                        .edges = adj.num_edges(),
                        .heads = 1,
                        .k = problem.n,
                        .element_bytes = size_of(problem.dtype),
                        .weighting = problem.weighted ? Weighting::kPerEdge : Weighting::kNone};
  const RodeSizes counts{plan.num_pieces(), plan.num_residual(),
                         ResidualBins(plan, ResidualBins::kWarp).warps, plan.local_rows, plan.is_clustered};
  const SpmmConfig config = choose_rode_config(sizes, counts, Context::of(adj.device()).properties());
  return {rode_variant(config), str(config)};
}

void note_rode_product(const Adjacency& adj, SpmmAlgorithm algorithm, const SpmmProblem& problem,
                       const RodeOptions& options) {
  const auto lock = adj.lock_cache();
  products_of(adj).emplace(algorithm, problem, options);
}

std::string explain_rode(const Adjacency& adj) {
  const auto lock = adj.lock_cache();
  std::string text;
  for (const auto& [algorithm, problem, options] : products_of(adj)) {
    text += str("  ", problem);
    if (options != RodeOptions{}) text += str(", ", options);
    text += str(": ", spmm_variant(adj, problem, algorithm, options), "\n");
  }
  return text;
}

}  // namespace rodeo
