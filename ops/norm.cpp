#include "ops/norm.h"

#include "core/node_partition.h"
#include "ops/checks.h"
#include "ops/combine.h"
#include "ops/dense.h"
#include "ops/kernels/dense.h"
#include "ops/kernels/norm.h"

namespace rodeo {
namespace {

/// In the dtype that kernels expect.
Tensor value_of(const Variable& parameter, const Tensor& x) {
  return parameter.defined() ? parameter.value().to(sum_dtype(x.dtype())) : Tensor();
}

Tensor like(const Variable& parameter, const Tensor& gradient) {
  return parameter.defined() ? gradient.to(parameter.dtype()) : Tensor();
}

void check_affine(std::string_view op, const Tensor& x, const Variable& weight, const Variable& bias) {
  for (const auto& [what, parameter] : {std::pair{"weight", weight}, {"bias", bias}}) {
    if (!parameter.defined()) continue;
    check_beside(op, "x", x, what, parameter.value());
    check_shape(op, what, parameter.value(), {x.dim(1)});
  }
}

/// Statistics of columns or rows: y = (x - mean) rstd.
struct Stats {
  Tensor mean, rstd;
};

Tensor normalize(const Tensor& x, const Stats& stats, kernels::NormAxis axis, const Tensor& weight,
                 const Tensor& bias) {
  const Tensor y = Tensor::empty(x.shape(), x.dtype(), x.device());
  if (y.numel() > 0) kernels::normalize.on(y.device())(x, stats.mean, stats.rstd, axis, weight, bias, y);
  return y;
}

struct AffineSums {
  Tensor dweight, dbias;  // [n], the sums' dtype
};

AffineSums affine_sums(const Tensor& x, const Tensor& dy, const Stats& stats, kernels::NormAxis axis) {
  const DType dtype = sum_dtype(x.dtype());
  const AffineSums sums{Tensor::zeros({x.dim(1)}, dtype, x.device()),
                        Tensor::zeros({x.dim(1)}, dtype, x.device())};
  if (x.numel() > 0)
    kernels::norm_sums.on(x.device())(x, dy, stats.mean, stats.rstd, axis, sums.dweight, sums.dbias);
  return sums;
}

Stats column_stats(const Tensor& x, const RunningStats& running, const BatchNormOptions& options) {
  const DType dtype = sum_dtype(x.dtype());
  const Stats stats{Tensor::empty({x.dim(1)}, dtype, x.device()),
                    Tensor::empty({x.dim(1)}, dtype, x.device())};
  const bool update = options.training && running.mean.defined();
  if (x.dim(1) > 0)
    kernels::batch_stats.on(x.device())(x, options.eps, options.momentum, update ? running : RunningStats(),
                                        stats.mean, stats.rstd);
  return stats;
}

/// Statistics of columns over the rows of all ranks.
Stats column_stats_over(const NodePartition& nodes, const Tensor& x, const RunningStats& running,
                        const BatchNormOptions& options) {
  const DType dtype = sum_dtype(x.dtype());
  const std::int64_t n = x.dim(1);
  const auto rows = static_cast<double>(nodes.num_nodes());
  const Tensor none = Tensor::zeros({n}, dtype, x.device());
  // Column sums of dy, and of x dy, over all ranks.
  const auto sums = [&](const Tensor& of, const Tensor& dy) {
    const AffineSums own = affine_sums(of, dy, {}, kernels::NormAxis::kColumns);
    nodes.ranks().all_reduce(own.dbias);
    nodes.ranks().all_reduce(own.dweight);
    return own;
  };
  const Tensor mean = linear_combination(1 / rows, sums(x, x).dbias, 0, none);
  const Stats shift{mean, Tensor::full({n}, 1, dtype, x.device())};
  const Tensor centred = normalize(x, shift, kernels::NormAxis::kColumns, {}, {});
  const Tensor squares = sums(centred, centred).dweight;
  const Tensor shifted =
      add(linear_combination(1 / rows, squares, 0, none), Tensor::full({n}, options.eps, dtype, x.device()));
  const Stats stats{mean, Tensor::empty({n}, dtype, x.device())};
  if (n > 0) kernels::inverse_sqrt.on(x.device())(shifted, stats.rstd);
  if (options.training && running.mean.defined()) {
    const double keep = 1 - options.momentum;
    running.mean.copy_from(linear_combination(keep, running.mean, options.momentum, mean));
    running.var.copy_from(linear_combination(keep, running.var, options.momentum / (rows - 1), squares));
  }
  return stats;
}

Stats running_stats(const RunningStats& running, double eps) {
  const Tensor& var = running.var;
  const Tensor shifted = add(var, Tensor::full(var.shape(), eps, var.dtype(), var.device()));
  const Stats stats{running.mean.clone(), Tensor::empty(var.shape(), var.dtype(), var.device())};
  if (var.numel() > 0) kernels::inverse_sqrt.on(var.device())(shifted, stats.rstd);
  return stats;
}

void check_running(const Tensor& x, const RunningStats& running) {
  check(running.mean.defined() == running.var.defined(),
        "[batch_norm] running mean and var must both be defined, or neither");
  if (!running.mean.defined()) return;
  for (const auto& [what, stat] : {std::pair{"running mean", running.mean}, {"running var", running.var}}) {
    check_shape("batch_norm", what, stat, {x.dim(1)});
    check(stat.dtype() == sum_dtype(x.dtype()) && stat.device() == x.device(), "[batch_norm] ", what,
          " must be ", sum_dtype(x.dtype()), " on ", x.device(), ", got ", stat.dtype(), " on ",
          stat.device());
  }
}

}  // namespace

Variable batch_norm(const Variable& x, const Variable& weight, const Variable& bias,
                    const RunningStats& running, const BatchNormOptions& options) {
  const Tensor in = x.value();
  check_matrix("batch_norm", "x", in);
  check_affine("batch_norm", in, weight, bias);
  const Tensor w = value_of(weight, in);
  check_running(in, running);
  check(options.eps >= 0 && options.momentum >= 0 && options.momentum <= 1,
        "[batch_norm] eps must not be negative and momentum be in [0, 1], got ", options.eps, " and ",
        options.momentum);
  const bool of_columns = options.training || !running.mean.defined();
  const NodePartition* nodes = of_columns ? current_partition() : nullptr;
  check(!nodes || nodes->num_rows() == in.dim(0), "[batch_norm] over ranks, x must have the ",
        nodes ? nodes->num_rows() : 0, " rows of the rank's nodes, got ", in.dim(0));
  const std::int64_t rows = nodes ? nodes->num_nodes() : in.dim(0);
  check(!of_columns || rows >= 2, "[batch_norm] the statistics of a column need at least 2 rows, got ", rows);
  const Stats stats = nodes        ? column_stats_over(*nodes, in, running, options)
                      : of_columns ? column_stats(in, running, options)
                                   : running_stats(running, options.eps);
  const std::shared_ptr<const NodePartition> over =
      nodes ? std::make_shared<const NodePartition>(*nodes) : nullptr;
  const Tensor y = normalize(in, stats, kernels::NormAxis::kColumns, w, value_of(bias, in));
  return record("batch_norm", y, {x, weight, bias}, [=](const Tensor& dy) {
    const AffineSums sums = affine_sums(in, dy, stats, kernels::NormAxis::kColumns);
    // dx takes the means over all rows; the kernel divides by those of this rank.
    AffineSums all = sums;
    if (over) {
      const double share = static_cast<double>(in.dim(0)) / static_cast<double>(over->num_nodes());
      for (Tensor* sum : {&all.dweight, &all.dbias}) {
        *sum = sum->clone();
        over->ranks().all_reduce(*sum);
        *sum = linear_combination(share, *sum, 0, *sum);
      }
    }
    const Tensor dx = Tensor::empty(dy.shape(), dy.dtype(), dy.device());
    if (dx.numel() > 0)
      kernels::batch_norm_dx.on(dx.device())(in, dy, stats.mean, stats.rstd, w,
                                             of_columns ? all.dweight : Tensor(), all.dbias, dx);
    return std::vector{dx, like(weight, sums.dweight), like(bias, sums.dbias)};
  });
}

Variable layer_norm(const Variable& x, const Variable& weight, const Variable& bias, double eps) {
  const Tensor in = x.value();
  check_matrix("layer_norm", "x", in);
  check_affine("layer_norm", in, weight, bias);
  const Tensor w = value_of(weight, in);
  check(eps >= 0, "[layer_norm] eps must not be negative, got ", eps);
  const DType dtype = sum_dtype(in.dtype());
  const Stats stats{Tensor::empty({in.dim(0)}, dtype, in.device()),
                    Tensor::empty({in.dim(0)}, dtype, in.device())};
  if (in.numel() > 0) kernels::row_stats.on(in.device())(in, eps, stats.mean, stats.rstd);
  const Tensor y = normalize(in, stats, kernels::NormAxis::kRows, w, value_of(bias, in));
  return record("layer_norm", y, {x, weight, bias}, [=](const Tensor& dy) {
    AffineSums sums;
    if (weight.requires_grad() || bias.requires_grad())
      sums = affine_sums(in, dy, stats, kernels::NormAxis::kRows);
    const Tensor dx = Tensor::empty(dy.shape(), dy.dtype(), dy.device());
    if (dx.numel() > 0) kernels::layer_norm_dx.on(dx.device())(in, dy, stats.mean, stats.rstd, w, dx);
    return std::vector{dx, like(weight, sums.dweight), like(bias, sums.dbias)};
  });
}

Variable l2_normalize(const Variable& x, double eps) {
  const Tensor in = x.value();
  check_matrix("l2_normalize", "x", in);
  check(eps > 0, "[l2_normalize] eps must be above 0, got ", eps);
  const Tensor y = Tensor::empty(in.shape(), in.dtype(), in.device());
  const Tensor inverse = Tensor::empty({in.dim(0)}, sum_dtype(in.dtype()), in.device());
  if (y.numel() > 0) kernels::l2_normalize.on(y.device())(in, eps, y, inverse);
  return record("l2_normalize", y, {x}, [=](const Tensor& dy) {
    const Tensor dx = Tensor::empty(dy.shape(), dy.dtype(), dy.device());
    if (dx.numel() > 0) kernels::l2_normalize_backward.on(dx.device())(y, inverse, eps, dy, dx);
    return std::vector{dx};
  });
}

}  // namespace rodeo
