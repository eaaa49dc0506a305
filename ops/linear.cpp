#include "ops/linear.h"

#include "core/context.h"
#include "core/profile.h"
#include "ops/checks.h"
#include "ops/dense.h"
#include "ops/epilogue.h"
#include "ops/kernels/dense.h"

namespace rodeo {
namespace {

bool has_wgmma(Device device) {
  return Context::of(device).compute_capability() == 90;
}

bool is_nothing(const EpilogueOptions& then) {
  return then.activation == Activation::kNone && then.dropout == 0 && !then.after.defined();
}

constexpr std::int64_t kNarrow = 64;  // columns of y or dx: above that mma.sync is no match for wgmma
constexpr std::int64_t kManyRows = 1 << 17;

/// Which of the two kernels is faster for y of n columns, and for dw [k, n]: docs/kernels.md.
bool takes_wgmma(Device device, std::int64_t rows, std::int64_t n, double dropout) {
  return has_wgmma(device) && (n > kNarrow || (rows >= kManyRows && (n > 16 || dropout == 0)));
}
bool gradient_takes_wgmma(Device device, std::int64_t rows, std::int64_t k, std::int64_t n) {
  return has_wgmma(device) && (n > kNarrow || (rows >= kManyRows && k >= 32 && n <= 48));
}

/// Where one kernel is faster than cuBLASLt with a pass before and after it: docs/kernels.md.
bool suits_one_kernel(const Variable& x, const Tensor& w) {
  constexpr std::int64_t kMostInner = 1024, kMostColumns = 256, kFewestRows = 1024;
  const std::int64_t k = w.dim(0), n = w.dim(1);
  if (!x.device().is_cuda() || x.dtype() != DType::kF32 || allow_tf32()) return false;
  if (x.dim(0) < kFewestRows || k < 1 || n < 1 || k > kMostInner || n > kMostColumns) return false;
  return (n <= kNarrow && (k <= kNarrow || !x.requires_grad())) || has_wgmma(x.device());
}

/// Whether the kernel does what follows, too.
bool takes(const EpilogueOptions& then, const Variable& x, std::int64_t n) {
  if (is_nothing(then)) return true;
  const bool is_relu = then.activation == Activation::kRelu;
  return n > kNarrow && has_wgmma(x.device()) && !x.requires_grad() && !then.recompute &&
         (is_relu || (then.activation == Activation::kNone && then.dropout == 0)) &&
         (then.dropout == 0 || n % 4 == 0);
}

Variable in_one_kernel(kernels::DropoutInput d, const Variable& x, const Variable& w, const Variable& bias,
                       const EpilogueOptions& then, std::int64_t columns) {
  const bool x_learns = x.requires_grad(), w_learns = w.requires_grad(), bias_learns = bias.requires_grad();
  const std::int64_t rows = d.x.dim(0), k = d.x.dim(1), n = w.dim(1);
  const bool weights_learn = w_learns || bias_learns;
  if (d.p > 0 && weights_learn && grad_enabled())
    d.kept = Tensor::empty({rows, (k + 31) / 32}, DType::kI32, d.x.device());
  const Tensor y = Tensor::empty({rows, columns}, DType::kF32, d.x.device());
  {
    const ProfileScope scope(Part::kGemm);
    const Tensor b = bias.defined() ? bias.value() : Tensor();
    if (takes_wgmma(y.device(), rows, n, d.p))
      kernels::wgmma_matmul.on(y.device())(d, w.value(), false, b, then, y);
    else
      kernels::tall_matmul.on(y.device())(d, w.value(), false, b, y);
  }
  d.x = {};  // an input may have its values computed again
  const SavedTensor kept_x = weights_learn ? x.saved() : SavedTensor();
  const SavedTensor kept_w = x_learns ? w.saved() : SavedTensor();
  const SavedTensor kept_y =
      weights_learn && then.activation == Activation::kRelu ? SavedTensor(y) : SavedTensor();
  const auto rule = [=](const Tensor& dy) {
    const ProfileScope scope(Part::kGemm);
    Tensor dx, dw, db;
    if (x_learns) {
      dx = Tensor::empty({rows, k}, dy.dtype(), dy.device());
      const kernels::DropoutInput slope{.x = dy, .scale = d.scale};
      if (takes_wgmma(dy.device(), rows, k, 0))
        kernels::wgmma_matmul.on(dy.device())(slope, kept_w.get(), true, {}, {}, dx);
      else
        kernels::tall_matmul.on(dy.device())(slope, kept_w.get(), true, {}, dx);
    }
    if (weights_learn) {
      dw = Tensor::empty({k, n}, dy.dtype(), dy.device());
      if (bias_learns) db = Tensor::empty({n}, dy.dtype(), dy.device());
      kernels::DropoutInput again = d;
      again.x = kept_x.get();
      if (gradient_takes_wgmma(dy.device(), rows, k, n))
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
  const bool is_product = !bias.defined() && is_nothing(then);
  check(options.columns == 0 || options.columns == n || (options.columns > n && is_product),
        "[linear] columns must be ", n, is_product ? " or more" : ", as something follows the product",
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
  check_rows("then.scale", then.scale);
  check_rows("then.after", then.after);
  check(then.activation != Activation::kElu || !then.after.defined(),
        "[linear] elu takes no factor after it");
  check(then.dropout >= 0 && then.dropout < 1, "[linear] dropout must be in [0, 1), got ", then.dropout);
}

}  // namespace

Variable linear(const Features& x, const Variable& w, const Variable& bias, const LinearOptions& options) {
  check(x.defined(), "[linear] x is undefined");
  check_matrix("linear", "w", w.value());
  check(x.shape().rank() == 2 && x.dim(1) == w.dim(0), "[linear] inner sizes must be equal, got ", x.shape(),
        " x ", w.shape());
  check_options(options, x, w, bias);
  const std::int64_t n = w.dim(1), columns = options.columns == 0 ? n : options.columns;
  const EpilogueOptions& then = options.then;
  const auto finish = [&](const Variable& y) {
    const bool same = is_nothing(then) && !bias.defined() && !then.scale.defined();
    return same ? y : epilogue(y, bias, then);
  };
  if (x.is_sparse()) {
    check(columns == n, "[linear] a product of sparse features has no columns of padding, got ", columns);
    return finish(matmul(x, w));
  }
  const Features::Dropping* const dropping =
      x.dropping_ && !x.dropping_->done.defined() ? x.dropping_.get() : nullptr;
  const Variable& given = dropping ? x.dense_ : x.dense();
  check_matrix("linear", "x", given.value());
  check_beside("linear", "x", given.value(), "w", w.value());
  if (!suits_one_kernel(given, w.value()))
    return finish(columns == n ? matmul(x.dense(), w) : matmul_padded(x.dense(), w, columns));
  kernels::DropoutInput d{.x = given.value()};
  if (dropping) d = {d.x, dropping->p, dropping->key, dropping->scale};
  const bool two_scales = d.scale.defined() && then.scale.defined();
  if (two_scales || !takes(then, given, n)) return finish(in_one_kernel(d, given, w, {}, {}, columns));
  if (then.scale.defined()) d.scale = then.scale;
  return in_one_kernel(d, given, w, bias, then, columns);
}

}  // namespace rodeo
