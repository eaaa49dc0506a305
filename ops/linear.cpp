#include "ops/linear.h"

#include <utility>

#include "core/context.h"
#include "ops/checks.h"
#include "ops/dense.h"
#include "ops/epilogue.h"
#include "ops/kernels/dense.h"
#include "ops/plan/linear_plan.h"
#include "ops/spmm.h"

namespace rodeo {
namespace {

bool is_identity(const EpilogueOptions& then) {
  return then.activation == Activation::kNone && then.dropout == 0 && !then.post_scale.defined();
}

/// x: dense. Its pending dropout counts as applied by the kernel.
LinearPlan plan_of(const Features& x, const Variable& w, const EpilogueOptions& then) {
  const Device device = x.device();
  return plan_linear({.rows = x.dim(0),
                      .k = w.dim(0),
                      .n = w.dim(1),
                      .dtype = x.dtype(),
                      .allow_tf32 = allow_tf32(),
                      .x_requires_grad = x.requires_grad(),
                      .input_dropout = x.pending_dropout() ? x.pending_dropout()->p : 0,
                      .activation = then.activation,
                      .dropout = then.dropout,
                      .has_post_scale = then.post_scale.defined(),
                      .recompute = then.recompute},
                     device.is_cuda() ? Context::of(device).properties() : DeviceProperties{});
}

/// The product in one kernel, with the dropout d of its input x and with `then`.
Variable fused(const LinearPlan& plan, kernels::DropoutInput d, const Variable& x, const Variable& w,
               const Variable& bias, const EpilogueOptions& then, std::int64_t columns) {
  const bool x_learns = x.requires_grad(), w_learns = w.requires_grad(), bias_learns = bias.requires_grad();
  const std::int64_t rows = d.x.dim(0), k = d.x.dim(1), n = w.dim(1);
  const bool weights_learn = w_learns || bias_learns;
  if (d.p > 0 && weights_learn && grad_enabled())
    d.kept = Tensor::empty({rows, (k + 31) / 32}, DType::kI32, d.x.device());
  const Tensor y = Tensor::empty({rows, columns}, DType::kF32, d.x.device());
  {
    const Tensor b = bias.defined() ? bias.value() : Tensor();
    if (plan.forward == LinearKernel::kWgmma)
      kernels::wgmma_matmul.on(y.device())(d, w.value(), false, b, then, y);
    else
      kernels::tall_matmul.on(y.device())(d, w.value(), false, b, y);
  }
  d.x = {};  // kept_x holds it, or recomputes it
  const SavedTensor kept_x = weights_learn ? x.saved() : SavedTensor();
  const SavedTensor kept_w = x_learns ? w.saved() : SavedTensor();
  const SavedTensor kept_y =
      weights_learn && then.activation == Activation::kRelu ? SavedTensor(y) : SavedTensor();
  const auto rule = [=](const Tensor& dy) {
    Tensor dx, dw, db;
    if (x_learns) {
      dx = Tensor::empty({rows, k}, dy.dtype(), dy.device());
      const kernels::DropoutInput scaled{.x = dy, .scale = d.scale};
      if (plan.dx == LinearKernel::kWgmma)
        kernels::wgmma_matmul.on(dy.device())(scaled, kept_w.get(), true, {}, {}, dx);
      else
        kernels::tall_matmul.on(dy.device())(scaled, kept_w.get(), true, {}, dx);
    }
    if (weights_learn) {
      dw = Tensor::empty({k, n}, dy.dtype(), dy.device());
      if (bias_learns) db = Tensor::empty({n}, dy.dtype(), dy.device());
      kernels::DropoutInput again = d;
      again.x = kept_x.get();
      if (plan.dw == LinearKernel::kWgmma)
        kernels::wgmma_matmul_transposed.on(dy.device())(again, kept_y.get(), dy, then, dw, db);
      else
        kernels::tall_matmul_transposed.on(dy.device())(again, dy, dw, db);
    }
    return std::vector{dx, w_learns ? dw : Tensor(), db};
  };
  return record("linear", y, {x, w, bias}, rule);
}

void check_options(const LinearOptions& options, const Features& x, const Variable& w, const Variable& bias) {
  const EpilogueOptions& then = options.then;
  const std::int64_t n = w.dim(1);
  const bool is_product = !bias.defined() && is_identity(then);
  check(options.columns == 0 || options.columns == n || (options.columns > n && is_product),
        "[linear] columns must be ", n, is_product ? " or more" : ", because a bias or an epilogue follows",
        ", got ", options.columns);
  if (bias.defined()) {
    check_beside("linear", "w", w.value(), "bias", bias.value());
    check_shape("linear", "bias", bias.value(), {n});
  }
  const auto check_rows = [&](std::string_view what, const Tensor& factor) {
    if (!factor.defined()) return;
    check_beside("linear", "w", w.value(), what, factor);
    check_shape("linear", what, factor, {x.dim(0)});
  };
  check_rows("then.pre_scale", then.pre_scale);
  check_rows("then.post_scale", then.post_scale);
  check(then.activation != Activation::kElu || !then.post_scale.defined(),
        "[linear] elu does not support post_scale");
  check(then.dropout >= 0 && then.dropout < 1, "[linear] dropout must be in [0, 1), got ", then.dropout);
}

/// An SpMM over the entries of x.
Variable sparse_product(const Features& x, const Variable& w) {
  const SpmmOptions options{.algorithm = x.device().is_cuda() ? SpmmAlgorithm::kRode : SpmmAlgorithm::kAuto};
  return record("matmul", spmm(x.entries(), x.values(), w.value().to(x.dtype()), options), {w},
                [=, dtype = w.dtype()](const Tensor& dy) {
                  const Tensor dw = spmm(x.pattern().transposed, x.transposed_values(), dy, options);
                  return std::vector{dw.to(dtype)};
                });
}

}  // namespace

Features linear_input(const Features& x, const Variable& w) {
  if (!x.defined() || !x.pending_dropout()) return x;
  return plan_of(x, w, {}).forward == LinearKernel::kMatmul ? Features(x.dense()) : x;
}

Variable linear(const Features& x, const Variable& w, const Variable& bias, const LinearOptions& options) {
  check(x.defined(), "[linear] x is undefined");
  check_matrix("linear", "w", w.value());
  check(x.shape().rank() == 2 && x.dim(1) == w.dim(0), "[linear] inner sizes must be equal, got ", x.shape(),
        " x ", w.shape());
  check_options(options, x, w, bias);
  const std::int64_t n = w.dim(1), columns = options.columns == 0 ? n : options.columns;
  const EpilogueOptions& then = options.then;
  const auto finish = [&](Variable y) {
    const bool done = is_identity(then) && !bias.defined() && !then.pre_scale.defined();
    return done ? y : epilogue(std::move(y), bias, then);
  };
  if (x.is_sparse()) {
    check(columns == n, "[linear] a product of sparse features has no padding columns, got ", columns);
    return finish(matmul(x, w));
  }
  const Variable& input = x.input();
  check_matrix("linear", "x", input.value());
  check_beside("linear", "x", input.value(), "w", w.value());
  const LinearPlan plan = plan_of(x, w, then);
  if (plan.forward == LinearKernel::kMatmul)
    return finish(columns == n ? matmul(x.dense(), w) : matmul_padded(x.dense(), w, columns));
  kernels::DropoutInput d{.x = input.value()};
  if (const auto& pending = x.pending_dropout()) d = {d.x, pending->p, pending->key, pending->scale};
  const bool two_scales = d.scale.defined() && then.pre_scale.defined();
  if (two_scales || !plan.fuses_epilogue) return finish(fused(plan, d, input, w, {}, {}, columns));
  if (then.pre_scale.defined()) d.scale = then.pre_scale;
  return fused(plan, d, input, w, bias, then, columns);
}

Variable matmul(const Features& x, const Variable& w) {
  check(x.defined(), "[matmul] x is undefined");
  if (!x.is_sparse()) return linear(x, w);
  check_matrix("matmul", "w", w.value());
  check_beside("matmul", "x", x.values(), "w", w.value());
  check(w.dim(0) == x.dim(1), "[matmul] inner sizes must be equal, got ", x.shape(), " x ", w.shape());
  return sparse_product(x, w);
}

}  // namespace rodeo
