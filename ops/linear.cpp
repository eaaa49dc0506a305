#include "ops/linear.h"

#include <algorithm>
#include <utility>

#include "core/context.h"
#include "core/outputs.h"
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
LinearProblem problem_of(const Features& x, const Variable& w, const EpilogueOptions& then) {
  return {.rows = x.dim(0),
          .k = w.dim(0),
          .n = w.dim(1),
          .dtype = x.dtype(),
          .allow_tf32 = allow_tf32(),
          .x_requires_grad = x.requires_grad(),
          .input_dropout = x.pending_dropout() ? x.pending_dropout()->p : 0,
          .activation = then.activation,
          .dropout = then.dropout,
          .has_post_scale = then.post_scale.defined(),
          .recompute = then.recompute};
}

DeviceProperties properties_of(Device device) {
  return device.is_cuda() ? Context::of(device).properties() : DeviceProperties{};
}

LinearPlan plan_of(const Features& x, const Variable& w, const EpilogueOptions& then) {
  return plan_linear(problem_of(x, w, then), properties_of(x.device()));
}

kernels::DropoutInput dropout_input(const Features& x) {
  const Tensor& value = x.input().value();
  const auto& pending = x.pending_dropout();
  return pending ? kernels::DropoutInput{value, pending->p, pending->key, pending->scale}
                 : kernels::DropoutInput{value};
}

bool any_learns(const std::vector<Variable>& all) {
  return std::any_of(all.begin(), all.end(), [](const Variable& x) { return x.requires_grad(); });
}

/// The values of parameters; undefined ones stay so.
std::vector<Tensor> values_of(const std::vector<Variable>& all) {
  std::vector<Tensor> values;
  for (const Variable& x : all) values.push_back(x.defined() ? x.value() : Tensor());
  return values;
}

std::vector<Tensor> memory(std::size_t count, const Shape& shape, Device device) {
  std::vector<Tensor> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(Tensor::empty(shape, DType::kF32, device));
  return out;
}

Tensor first_of(const std::vector<Tensor>& all) {
  return all.empty() ? Tensor() : all.front();
}

/// The products in one kernel, with the dropout d of their input x and with `then`: of one matrix, or several
/// if all kernels of the plan are wgmma. `bias` is empty or as long as w.
std::vector<Variable> fused(const LinearPlan& plan, kernels::DropoutInput d, const Variable& x,
                            const std::vector<Variable>& w, const std::vector<Variable>& bias,
                            const EpilogueOptions& then, std::int64_t columns) {
  const bool x_learns = x.requires_grad(), bias_learns = any_learns(bias),
             weights_learn = any_learns(w) || bias_learns;
  const std::int64_t rows = d.x.dim(0), k = d.x.dim(1), n = w.front().dim(1);
  const std::size_t count = w.size(), biases = bias.size();
  const Device device = d.x.device();
  if (d.p > 0 && weights_learn && grad_enabled())
    d.kept = Tensor::empty({rows, (k + 31) / 32}, DType::kI32, device);
  const std::vector<Tensor> y = memory(count, {rows, columns}, device);
  {
    const std::vector<Tensor> b = values_of(bias);
    if (plan.forward == LinearKernel::kWgmma)
      kernels::wgmma_matmul.on(device)(d, values_of(w), false, b, then, y);
    else
      kernels::tall_matmul.on(device)(d, w.front().value(), false, first_of(b), y.front());
  }
  d.x = {};  // kept_x holds it, or recomputes it
  const SavedTensor kept_x = weights_learn ? x.saved() : SavedTensor();
  std::vector<SavedTensor> kept_w;
  for (const Variable& each : w) kept_w.push_back(x_learns ? each.saved() : SavedTensor());
  const SavedTensor kept_y =
      weights_learn && then.activation == Activation::kRelu ? SavedTensor(y.front()) : SavedTensor();
  const auto rule = [=](std::vector<Tensor> dy) {
    for (Tensor& each : dy)
      if (!each.defined()) each = Tensor::zeros({rows, columns}, DType::kF32, device);
    std::vector<Tensor> out(1), dw(count), db(biases);
    if (x_learns) {
      out[0] = Tensor::empty({rows, k}, DType::kF32, device);
      kernels::DropoutInput scaled{.x = dy[0], .scale = d.scale};
      scaled.beside.assign(dy.begin() + 1, dy.end());
      std::vector<Tensor> of_w;
      for (const SavedTensor& each : kept_w) of_w.push_back(each.get());
      if (plan.dx == LinearKernel::kWgmma)
        kernels::wgmma_matmul.on(device)(scaled, of_w, true, {}, {}, out[0]);
      else
        kernels::tall_matmul.on(device)(scaled, of_w[0], true, {}, out[0]);
    }
    if (weights_learn) {
      dw = memory(count, {k, n}, device);
      if (bias_learns) db = memory(biases, {n}, device);
      kernels::DropoutInput again = d;
      again.x = kept_x.get();
      if (plan.dw == LinearKernel::kWgmma)
        kernels::wgmma_matmul_transposed.on(device)(again, kept_y.get(), dy, then, dw, db);
      else
        kernels::tall_matmul_transposed.on(device)(again, dy[0], dw[0], first_of(db));
    }
    out.insert(out.end(), dw.begin(), dw.end());
    out.insert(out.end(), db.begin(), db.end());
    return out;
  };
  std::vector<Variable> inputs{x};
  inputs.insert(inputs.end(), w.begin(), w.end());
  inputs.insert(inputs.end(), bias.begin(), bias.end());
  if (count > 1) return record_outputs("linear", y, inputs, rule);
  return {record("linear", y.front(), inputs, [rule](const Tensor& dy) { return rule({dy}); })};
}

void check_inputs(const Features& x, const Variable& w) {
  check(x.defined(), "[linear] x is undefined");
  check_matrix("linear", "w", w.value());
  check(x.shape().rank() == 2 && x.dim(1) == w.dim(0), "[linear] inner sizes must be equal, got ", x.shape(),
        " x ", w.shape());
}

void check_dense(const Features& x, const Variable& w) {
  check_matrix("linear", "x", x.input().value());
  check_beside("linear", "x", x.input().value(), "w", w.value());
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
  check_inputs(x, w);
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
  check_dense(x, w);
  const Variable& input = x.input();
  const LinearPlan plan = plan_of(x, w, then);
  if (plan.forward == LinearKernel::kMatmul)
    return finish(columns == n ? matmul(x.dense(), w) : matmul_padded(x.dense(), w, columns));
  kernels::DropoutInput d = dropout_input(x);
  const bool two_scales = d.scale.defined() && then.pre_scale.defined();
  if (two_scales || !plan.fuses_epilogue) return finish(fused(plan, d, input, {w}, {}, {}, columns)[0]);
  if (then.pre_scale.defined()) d.scale = then.pre_scale;
  return fused(plan, d, input, {w}, bias.defined() ? std::vector{bias} : std::vector<Variable>(), then,
               columns)[0];
}

std::vector<Variable> linear_many(const Features& given, const std::vector<Variable>& w,
                                  const std::vector<Variable>& bias) {
  const auto number = static_cast<std::int64_t>(w.size());
  check(number > 0, "[linear_many] w must have at least one matrix");
  check(bias.empty() || bias.size() == w.size(), "[linear_many] bias must have ", w.size(),
        " vectors or none, got ", bias.size());
  check_inputs(given, w.front());
  for (std::size_t i = 1; i < w.size(); ++i) {
    check(w[i].shape() == w[0].shape() && w[i].dtype() == w[0].dtype() && w[i].device() == w[0].device(),
          "[linear_many] all of w must be ", w[0].dtype(), " ", w[0].shape(), " on ", w[0].device(), ", got ",
          w[i].dtype(), " ", w[i].shape(), " on ", w[i].device());
  }
  const auto bias_of = [&](std::size_t i) { return bias.empty() ? Variable() : bias[i]; };
  LinearPlan plan;
  if (!given.is_sparse()) {
    check_dense(given, w.front());
    plan = plan_linear_many(problem_of(given, w.front(), {}), number, properties_of(given.device()));
  }
  if (plan.forward != LinearKernel::kMatmul) {
    for (std::size_t i = 0; i < w.size(); ++i) check_options({}, given, w[i], bias_of(i));
    return fused(plan, dropout_input(given), given.input(), w, bias, {}, w.front().dim(1));
  }
  const Features x = linear_input(given, w.front());
  std::vector<Variable> y;
  for (std::size_t i = 0; i < w.size(); ++i) y.push_back(linear(x, w[i], bias_of(i)));
  return y;
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
