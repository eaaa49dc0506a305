#include "ops/spmv.h"

#include "core/context.h"
#include "core/cuda_graph.h"
#include "ops/checks.h"
#include "ops/kernels/sparse.h"
#include "ops/plan/spmv_plan.h"
#include "ops/sparse/graph_plans.h"

namespace rodeo {
namespace {

const SpmvTiles& cached_tiles(const Adjacency& adj) {
  return adj.cached<SpmvTiles>([&] {
    check(!is_capturing(adj.device()),
          "[spmv] tiles cannot be computed during CUDA graph capture: run the work once before capturing");
    const SpmvTileSize size{SpmvTileSize::threads_for(row_lengths(adj).longest)};
    return kernels::spmv_tiles.on(adj.device())(adj.csr(), size);
  });
}

Tensor run(const Adjacency& adj, const Tensor& weight, const Tensor& x, const SpmvOptions& options) {
  check_spmv_options(options);
  check_vector("spmv", "x", x);
  check_on_device_of("spmv", adj, "x", x);
  check_shape("spmv", "x", x, {adj.cols()});
  if (weight.defined()) {
    check_alike("spmv", "x", x, "weight", weight);
    check_shape("spmv", "weight", weight, {adj.num_edges()});
  }
  const Tensor y = Tensor::empty({adj.rows()}, x.dtype(), x.device());
  if (adj.num_edges() == 0) {
    y.fill(0);
    return y;
  }
  const SpmvAlgorithm algorithm =
      options.algorithm == SpmvAlgorithm::kAuto ? choose_spmv_algorithm(adj) : options.algorithm;
  if (algorithm == SpmvAlgorithm::kSegmented) {
    const Tensor& row = cached_edge_rows(adj);
    kernels::segment_sum.on(y.device())(row, adj.csr().col, weight, x, y);
  } else if (algorithm == SpmvAlgorithm::kRode) {
    const RodePlan& plan = rode_plan(adj);
    kernels::spmv_rode.on(y.device())(adj.csr(), plan, weight, x, y);
  } else if (algorithm == SpmvAlgorithm::kStream) {
    kernels::spmv_stream.on(y.device())(adj.csr(), cached_tiles(adj), weight, x, y);
  } else {
    const int threads =
        options.threads_per_vector != 0
            ? options.threads_per_vector
            : threads_per_vector(static_cast<double>(adj.num_edges()) / static_cast<double>(adj.rows()));
    kernels::spmv_vector.on(y.device())(adj.csr(), weight, x, threads, y);
  }
  return y;
}

}  // namespace

SpmvAlgorithm choose_spmv_algorithm(const Adjacency& adj) {
  if (!adj.device().is_cuda()) return SpmvAlgorithm::kVector;
  const DeviceProperties& gpu = Context::of(adj.device()).properties();
  if (should_stage_x(adj.cols(), adj.num_edges(), sizeof(float), gpu)) return SpmvAlgorithm::kRode;
  return choose_spmv_algorithm(row_lengths(adj));
}

Tensor spmv(const Adjacency& adj, const Tensor& x, const SpmvOptions& options) {
  return run(adj, {}, x, options);
}

Tensor spmv(const Adjacency& adj, const Tensor& weight, const Tensor& x, const SpmvOptions& options) {
  check(weight.defined(), "[spmv] weight is undefined: leave it out for an unweighted sum");
  return run(adj, weight, x, options);
}

// The gradients are in ops/sparse/gradients.cpp.

}  // namespace rodeo
