#include "ops/epilogue.h"

#include <utility>

#include "ops/checks.h"
#include "ops/dense.h"
#include "ops/fixed_slopes.h"
#include "ops/kernels/dense.h"
#include "ops/scale_rows.h"

namespace rodeo {
namespace {

void check_rows(const Tensor& x, std::string_view what, const Tensor& factor) {
  if (!factor.defined()) return;
  check_beside("epilogue", "x", x, what, factor);
  check_shape("epilogue", what, factor, {x.dim(0)});
}

/// The options with the scales in the dtype that kernels expect.
EpilogueOptions widened(EpilogueOptions options, const Tensor& x) {
  options.pre_scale = options.pre_scale.to(sum_dtype(x.dtype()));
  options.post_scale = options.post_scale.to(sum_dtype(x.dtype()));
  return options;
}

/// What epilogue(x, ...) returns; -> columns of y. Throws as it does.
std::int64_t check_epilogue(const Tensor& x, const Tensor& bias, const EpilogueOptions& options,
                            std::int64_t columns) {
  check_matrix("epilogue", "x", x);
  const std::int64_t pitch = x.dim(1);
  std::int64_t n = columns == 0 ? pitch : columns;
  if (bias.defined()) {
    check_vector("epilogue", "bias", bias);
    check_beside("epilogue", "x", x, "bias", bias);
    if (columns == 0) n = bias.dim(0);
    check_shape("epilogue", "bias", bias, {n});
  }
  check(n >= 0 && n <= pitch, "[epilogue] the result has ", n, " columns, and x must have as many, got ",
        x.shape());
  check_rows(x, "pre_scale", options.pre_scale);
  check_rows(x, "post_scale", options.post_scale);
  check(options.activation != Activation::kElu || !options.post_scale.defined(),
        "[epilogue] elu does not support post_scale");
  check(options.dropout >= 0 && options.dropout < 1, "[epilogue] dropout must be in [0, 1), got ",
        options.dropout);
  return n;
}

void compute(const Tensor& x, const Tensor& bias, const EpilogueOptions& options, const Tensor& y,
             const Tensor& signs) {
  if (y.numel() > 0)
    kernels::epilogue.on(y.device())(x, bias.to(sum_dtype(x.dtype())), widened(options, x), y, signs);
}

Variable recorded(const Variable& x, const Variable& bias, const EpilogueOptions& given, std::int64_t columns,
                  bool overwrites_x) {
  const Tensor b = bias.defined() ? bias.value() : Tensor();
  const std::int64_t n = check_epilogue(x.value(), b, given, columns);
  const bool overwrite = overwrites_x && n == x.dim(1) && !given.recompute;
  const Tensor y = overwrite ? x.value() : Tensor::empty({x.dim(0), n}, x.dtype(), x.device());
  const EpilogueOptions options = widened(given, y);
  const bool relu = options.activation == Activation::kRelu, linear = options.activation == Activation::kNone;
  Tensor signs;  // all that the gradient of ReLU needs, in an 8th of the memory of 16-bit y
  if (relu && !options.recompute && grad_enabled() && (x.requires_grad() || bias.requires_grad()))
    signs = Tensor::empty({(y.numel() + 3) / 4}, DType::kU8, y.device());
  compute(x.value(), b, options, y, signs);
  SavedTensor recomputed;
  if (options.recompute)
    recomputed = SavedTensor([=, x = x.saved()] { return epilogue(x.get(), b, options, columns); });
  const bool is_identity = linear && options.dropout == 0 && !options.pre_scale.defined() &&
                           !options.post_scale.defined() && y.shape() == x.shape();  // then dx = dy
  const SavedTensor kept = linear || signs.defined() ? SavedTensor()
                           : options.recompute       ? recomputed
                                                     : SavedTensor(y);
  const bool x_learns = x.requires_grad() && !is_identity, bias_learns = bias.requires_grad();
  const auto of_tensors = [=, shape = x.shape(), bias_dtype = b.dtype()](const Tensor& dy) {
    Tensor dx, db;
    // Nobody else reads dy: dx takes its memory. Each element is read before it is written.
    const bool in_place = dy.shared_storage().use_count() == 1 && shape == dy.shape();
    if (x_learns) dx = in_place ? dy : Tensor::empty(shape, dy.dtype(), dy.device());
    if (bias_learns) db = Tensor::empty({dy.dim(1)}, sum_dtype(dy.dtype()), dy.device());
    if (dy.numel() == 0) {
      if (dx.defined()) dx.fill(0);
      if (db.defined()) db.fill(0);
    } else if (dx.defined() || db.defined()) {
      kernels::epilogue_backward.on(dy.device())(kept.get(), signs, dy, options, dx, db);
    }
    return std::vector{is_identity ? dy : dx, db.to(bias_dtype)};
  };
  const auto of_variables = [=, shape = x.shape(), bias_dtype = b.dtype()](const Variable& dy) {
    check(options.activation != Activation::kElu && shape == dy.shape(),
          "[autograd] epilogue() with elu or padding columns has no second derivative");
    const auto slopes = [=](const Tensor& d) {
      EpilogueOptions inner = options;
      inner.pre_scale = {};
      const Tensor dx = Tensor::empty(d.shape(), d.dtype(), d.device());
      if (d.numel() > 0) kernels::epilogue_backward.on(d.device())(kept.get(), signs, d, inner, dx, {});
      return dx;
    };
    const Variable inner = is_identity ? dy : record_fixed_slopes("epilogue", slopes(dy.value()), dy, slopes);
    const Variable dx = options.pre_scale.defined() ? scale_rows(inner, options.pre_scale) : inner;
    return std::vector{dx, bias_learns ? cast(sum_rows(inner), bias_dtype) : Variable()};
  };
  return record("epilogue", y, {x, bias},
                BothForms<decltype(of_tensors), decltype(of_variables)>{of_tensors, of_variables},
                recomputed);
}

}  // namespace

Tensor epilogue(const Tensor& x, const Tensor& bias, const EpilogueOptions& options, std::int64_t columns) {
  const std::int64_t n = check_epilogue(x, bias, options, columns);
  const Tensor y = Tensor::empty({x.dim(0), n}, x.dtype(), x.device());
  compute(x, bias, options, y, {});
  return y;
}

Variable epilogue(const Variable& x, const Variable& bias, const EpilogueOptions& options,
                  std::int64_t columns) {
  return recorded(x, bias, options, columns, false);
}

Variable epilogue(Variable&& x, const Variable& bias, const EpilogueOptions& options, std::int64_t columns) {
  const Variable consumed = std::move(x);
  return recorded(consumed, bias, options, columns, consumed.is_sole_owner());
}

}  // namespace rodeo
