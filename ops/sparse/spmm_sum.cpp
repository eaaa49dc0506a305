#include "ops/sparse/spmm_sum.h"

#include <limits>

#include "ops/checks.h"
#include "ops/combine.h"
#include "ops/plan/tca_plan.h"
#include "ops/sparse/spmm_algorithms.h"
#include "ops/sparse/spmm_products.h"
#include "ops/sparse/tuning_cache.h"
#include "ops/spmm_tuner.h"
#include "ops/spmm_variant.h"
#include "ops/spmv.h"

namespace rodeo {
namespace {

bool has_heads(const Tensor& weight) {
  return weight.defined() && weight.rank() == 2;
}

/// Throws Error where the algorithm that the caller named does not support the operands.
void check_supported(const SpmmOptions& options, const Adjacency& adj, const Tensor& x) {
  const SpmmAlgorithm algorithm = options.algorithm;
  constexpr std::int64_t kMaxEdges = std::numeric_limits<std::int32_t>::max();
  const Device device = adj.device();
  check(device.is_cuda() || !is_only_cuda(algorithm), "[spmm] ", algorithm,
        " runs on CUDA only, and the graph is on ", device, ": choose auto, csr or rode");
  if (algorithm == SpmmAlgorithm::kRodeTc || algorithm == SpmmAlgorithm::kTca)
    check(x.dtype() != DType::kF64, "[spmm] ", algorithm, " takes f32 (as TF32), bf16 and f16, got ",
          x.dtype());
  if (const std::int64_t n = x.dim(x.rank() - 1); algorithm == SpmmAlgorithm::kTca)
    check(n <= TcaPlan::kMaxColumns, "[spmm] tca takes at most ", TcaPlan::kMaxColumns, " columns, got ", n);
  if (algorithm == SpmmAlgorithm::kCusparse) {
    check(adj.num_edges() <= kMaxEdges, "[spmm] cusparse takes at most 2^31 - 1 edges, got ", adj.num_edges(),
          ": choose rode");
    check(adj.num_edges() <= adj.rows() * adj.cols(),
          "[spmm] cusparse takes no more edges than rows x cols, got ", adj.num_edges(), " on ", adj.rows(),
          " x ", adj.cols(), ": choose rode");
  }
  check(options.rode == RodeOptions{} || algorithm == SpmmAlgorithm::kRode ||
            algorithm == SpmmAlgorithm::kRodeTc,
        "[spmm] split and block are for rode and rode-tc, got ", algorithm);
  if (options.accumulate == Accumulate::kAtomic)
    check(device.is_cuda() && size_of(x.dtype()) >= 4 &&
              (algorithm == SpmmAlgorithm::kRode || algorithm == SpmmAlgorithm::kAuto),
          "[spmm] atomic accumulation is for rode and auto on CUDA in f32 or f64, got ", algorithm, " on ",
          device, " in ", x.dtype());
}

/// The tuner's key for a product without heads.
SpmmProblem problem_of(const SpmmOperands& in) {
  return {in.x.dim(1), in.x.dtype(), in.weight.defined(), in.accumulate == Accumulate::kAtomic};
}

SpmmAlgorithm choose(const SpmmOperands& in) {
  if (has_heads(in.weight)) return spmm_rule(in.adj);  // the other algorithms support one head only
  return choose_spmm(
      in.adj, problem_of(in), [&](SpmmAlgorithm algorithm) { run_spmm(algorithm, in); },
      SpmmTuningCache::of_process());
}

/// A product for each head, of copies of its weights and columns.
Tensor sum_by_heads(const Adjacency& adj, const Tensor& weight, const Tensor& x, const SpmmOptions& options) {
  const std::int64_t heads = x.dim(1), n = x.dim(2);
  const auto part = [&](const Tensor& all, std::int64_t h, std::int64_t width) {
    return heads == 1 ? all : columns(all, h * width, (h + 1) * width);
  };
  const Tensor rows = x.reshape({adj.cols(), heads * n});
  std::vector<Tensor> y;
  for (std::int64_t h = 0; h < heads; ++h)
    y.push_back(spmm_sum(adj, part(weight, h, 1).reshape({adj.num_edges()}), part(rows, h, n), options));
  return (heads == 1 ? y[0] : concat_columns(y)).reshape({adj.rows(), heads, n});
}

}  // namespace

void check_spmm_operands(const Adjacency& adj, const Tensor& weight, const Tensor& x) {
  const bool heads = has_heads(weight);
  if (!heads) check_matrix("spmm", "x", x);
  check(x.defined() && is_float(x.dtype()), "[spmm] x must be floating point");
  check_on_device_of("spmm", adj, "x", x);
  if (heads)
    check(x.rank() == 3 && x.dim(0) == adj.cols() && x.dim(1) == weight.dim(1), "[spmm] x must be [",
          adj.cols(), ", ", weight.dim(1), ", n] as weight has ", weight.dim(1), " heads, got ", x.shape());
  else
    check(x.dim(0) == adj.cols(), "[spmm] x must be [", adj.cols(), ", n], got ", x.shape());
  if (!weight.defined()) return;
  check_alike("spmm", "x", x, "weight", weight);
  if (heads)
    check_shape("spmm", "weight", weight, {adj.num_edges(), weight.dim(1)});
  else
    check_shape("spmm", "weight", weight, {adj.num_edges()});
}

Tensor spmm_sum(const Adjacency& adj, const Tensor& weight, const Tensor& x, const SpmmOptions& options) {
  check_spmm_operands(adj, weight, x);
  check_supported(options, adj, x);
  const bool is_auto = options.algorithm == SpmmAlgorithm::kAuto;
  if (is_auto && x.rank() == 2 && x.dim(1) == 1) {
    const Tensor v = x.reshape({adj.cols()});
    return (weight.defined() ? spmv(adj, weight, v) : spmv(adj, v)).reshape({adj.rows(), 1});
  }
  const Shape shape = x.rank() == 3 ? Shape{adj.rows(), x.dim(1), x.dim(2)} : Shape{adj.rows(), x.dim(1)};
  const Tensor y = Tensor::empty(shape, x.dtype(), x.device());
  if (y.numel() == 0) return y;
  if (has_heads(weight) && is_only_cuda(options.algorithm)) return sum_by_heads(adj, weight, x, options);
  const SpmmOperands operands{adj, weight, x, y, options.accumulate, options.rode};
  const bool is_rode =
      options.algorithm == SpmmAlgorithm::kRode || options.algorithm == SpmmAlgorithm::kRodeTc;
  if (is_rode && adj.device().is_cuda() && x.rank() == 2)
    note_rode_product(adj, options.algorithm, problem_of(operands), options.rode);
  run_spmm(is_auto ? choose(operands) : options.algorithm, operands);
  return y;
}

}  // namespace rodeo
