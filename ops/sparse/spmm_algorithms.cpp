#include "ops/sparse/spmm_algorithms.h"

#include <memory>
#include <ostream>

#include "core/error.h"
#include "ops/kernels/sparse.h"
#include "ops/sparse/dense_block_plans.h"
#include "ops/sparse/graph_plans.h"
#include "ops/sparse/tca_plans.h"

namespace rodeo {
namespace {

struct CachedCusparse {
  mutable std::shared_ptr<kernels::CusparseGraph> graph;
};

std::shared_ptr<kernels::CusparseGraph>& cusparse_state(const Adjacency& adj) {
  return adj.cached<CachedCusparse>([] { return CachedCusparse(); }).graph;
}

// Plans are made before the kernel that is timed.
void run_csr(const SpmmOperands& in) {
  const Device device = in.y.device();
  const RowLocality locality = device.is_cuda() ? row_locality(in.adj) : RowLocality{};
  kernels::spmm_csr.on(device)(in.adj.csr(), locality, in.weight, in.x, in.y);
}

void run_rode(const SpmmOperands& in) {
  const RodePlan& plan = rode_plan(in.adj, in.rode);
  kernels::spmm_rode.on(in.y.device())(in.adj.csr(), plan, in.accumulate, in.weight, in.x, in.y);
}

void run_rode_tc(const SpmmOperands& in) {
  if (const DenseBlocks* blocks = dense_form(in.adj, in.x.dtype(), in.rode))
    return kernels::spmm_dense_blocks.on(in.y.device())(in.adj.csr(), *blocks, in.weight, in.x, in.y);
  const RodePlan& plan = rode_plan(in.adj, in.rode);
  kernels::spmm_rode_tc.on(in.y.device())(in.adj.csr(), plan, in.weight, in.x, in.y);
}

void run_tca(const SpmmOperands& in) {
  const TcaPlan& plan = tca_plan(in.adj, TcaPlan::tiles(in.x.dim(1), size_of(in.x.dtype())));
  kernels::spmm_tca.on(in.y.device())(in.adj.csr(), plan, in.weight, in.x, in.y);
}

void run_cusparse(const SpmmOperands& in) {
  const auto lock = in.adj.lock_cache();  // the product uses workspaces that are kept there
  kernels::spmm_cusparse.on(in.y.device())(in.adj.csr(), cusparse_state(in.adj), in.weight, in.x, in.y);
}

struct Row {
  SpmmAlgorithm algorithm;
  void (*run)(const SpmmOperands& in);
};

// clang-format off
constexpr Row kAlgorithms[] = {
    {SpmmAlgorithm::kAuto, nullptr},  // one of the others (ops/spmm_tuner.h)
    {SpmmAlgorithm::kCsr, run_csr},
    {SpmmAlgorithm::kRode, run_rode},
    {SpmmAlgorithm::kRodeTc, run_rode_tc},
    {SpmmAlgorithm::kTca, run_tca},
    {SpmmAlgorithm::kCusparse, run_cusparse},
};
// clang-format on

}  // namespace

void run_spmm(SpmmAlgorithm algorithm, const SpmmOperands& in) {
  for (const Row& row : kAlgorithms)
    if (row.algorithm == algorithm && row.run) return row.run(in);
  fail("[spmm] no such algorithm: ", static_cast<int>(algorithm));
}

bool has_cusparse_state(const Adjacency& adj) {
  const auto lock = adj.lock_cache();
  return cusparse_state(adj) != nullptr;
}

void release_cusparse_state(const Adjacency& adj) {
  const auto lock = adj.lock_cache();
  cusparse_state(adj).reset();
}

}  // namespace rodeo
