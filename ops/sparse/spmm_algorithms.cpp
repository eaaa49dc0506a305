#include "ops/sparse/spmm_algorithms.h"

#include <memory>

#include "core/error.h"
#include "ops/kernels/sparse.h"
#include "ops/sparse/graph_plans.h"

namespace rodeo {
namespace {

struct CachedCusparse {
  mutable std::shared_ptr<kernels::CusparseGraph> graph;
};

std::shared_ptr<kernels::CusparseGraph>& cusparse_state(const Adjacency& adj) {
  return adj.cached<CachedCusparse>([] { return CachedCusparse(); }).graph;
}

}  // namespace

void run_spmm(SpmmAlgorithm algorithm, const SpmmOperands& in) {
  const Device device = in.y.device();
  // The plan is computed here, before the kernel that is timed.
  const bool planned = algorithm == SpmmAlgorithm::kRode || algorithm == SpmmAlgorithm::kTca;
  const RodePlan* const plan = planned ? &rode_plan(in.adj) : nullptr;
  switch (algorithm) {
    case SpmmAlgorithm::kCsr:
      return kernels::spmm_csr.on(device)(in.adj.csr(), in.weight, in.x, in.y);
    case SpmmAlgorithm::kRode:
      return kernels::spmm_rode.on(device)(in.adj.csr(), *plan, in.accumulate, in.weight, in.x, in.y);
    case SpmmAlgorithm::kTca:
      return kernels::spmm_tca.on(device)(in.adj.csr(), *plan, in.weight, in.x, in.y);
    case SpmmAlgorithm::kCusparse:
      return kernels::spmm_cusparse.on(device)(in.adj.csr(), cusparse_state(in.adj), in.weight, in.x, in.y);
    case SpmmAlgorithm::kAuto:
      break;
  }
  fail("[spmm] no such algorithm: ", static_cast<int>(algorithm));
}

bool has_cusparse_state(const Adjacency& adj) {
  return cusparse_state(adj) != nullptr;
}

void release_cusparse_state(const Adjacency& adj) {
  cusparse_state(adj).reset();
}

}  // namespace rodeo
