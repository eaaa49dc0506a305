#include "ops/linear.h"

#include "core/context.h"
#include "core/profile.h"
#include "ops/checks.h"
#include "ops/dense.h"
#include "ops/epilogue.h"
#include "ops/kernels.h"

namespace rodeo {
namespace {

/// Where one kernel is faster than cuBLASLt with a pass before and after it: docs/kernels.md.
bool suits_one_kernel(const Tensor& x, const Tensor& w, bool drops) {
  constexpr std::int64_t kNarrow = 64, kMostInner = 1024, kMostColumns = 256, kFewestRows = 1024;
  const std::int64_t k = w.dim(0), n = w.dim(1);
  return x.device().is_cuda() && x.dtype() == DType::kF32 && !allow_tf32() && x.dim(0) >= kFewestRows &&
         k >= 1 && n >= 1 && k <= kMostInner && n <= kMostColumns && (drops || k <= kNarrow || n <= kNarrow);
}

Variable in_one_kernel(const kernels::DroppedMatrix& d, const Variable& x, const Variable& w,
                       const Variable& bias, std::int64_t columns) {
  const Tensor y = Tensor::empty({d.x.dim(0), columns}, DType::kF32, d.x.device());
  {
    const ProfileScope scope(Part::kGemm);
    kernels::tall_matmul.on(y.device())(d, w.value(), false, bias.defined() ? bias.value() : Tensor(), y);
  }
  const bool x_learns = x.requires_grad(), w_learns = w.requires_grad(), bias_learns = bias.requires_grad();
  const SavedTensor kept_x = w_learns || bias_learns ? x.saved() : SavedTensor();
  const SavedTensor kept_w = x_learns ? w.saved() : SavedTensor();
  const auto rule = [=, d = kernels::DroppedMatrix{{}, d.p, d.key, d.scale}, x_shape = d.x.shape(),
                     w_shape = w.shape()](const Tensor& dy) {
    const ProfileScope scope(Part::kGemm);
    Tensor dx, dw, db;
    if (x_learns) {
      dx = Tensor::empty(x_shape, dy.dtype(), dy.device());
      kernels::tall_matmul.on(dy.device())({dy, 0, {}, d.scale}, kept_w.get(), true, {}, dx);
    }
    if (w_learns || bias_learns) {
      dw = Tensor::empty(w_shape, dy.dtype(), dy.device());
      if (bias_learns) db = Tensor::empty({w_shape[1]}, dy.dtype(), dy.device());
      kernels::tall_matmul_transposed.on(dy.device())({kept_x.get(), d.p, d.key, d.scale}, dy, dw, db);
    }
    return std::vector{dx, w_learns ? dw : Tensor(), db};
  };
  return record("linear", y, {x, w, bias}, rule);
}

}  // namespace

Variable linear(const Features& x, const Variable& w, const Variable& bias, const LinearOptions& options) {
  check(x.defined(), "[linear] x is undefined");
  check_matrix("linear", "w", w.value());
  check(x.shape().rank() == 2 && x.dim(1) == w.dim(0), "[linear] inner sizes must be equal, got ", x.shape(),
        " x ", w.shape());
  const std::int64_t n = w.dim(1), columns = options.columns == 0 ? n : options.columns;
  check(columns >= n && (columns == n || !bias.defined()), "[linear] columns must be ", n,
        bias.defined() ? ", as there is a bias" : " or more", ", got ", columns);
  if (bias.defined()) {
    check_alike("linear", "w", w.value(), "bias", bias.value());
    check_shape("linear", "bias", bias.value(), {n});
  }
  if (options.scale.defined()) {
    check_alike("linear", "w", w.value(), "scale", options.scale);
    check_shape("linear", "scale", options.scale, {x.dim(0)});
  }
  const auto finish = [&](const Variable& y) {
    const bool nothing = !bias.defined() && !options.scale.defined();
    return nothing ? y : epilogue(y, bias, {.scale = options.scale});
  };
  if (x.is_sparse()) {
    check(columns == n, "[linear] a product of sparse features has no columns of padding, got ", columns);
    return finish(matmul(x, w));
  }
  const Features::Dropping* const dropping =
      x.dropping_ && !x.dropping_->done.defined() ? x.dropping_.get() : nullptr;
  const Variable& given = dropping ? x.dense_ : x.dense();
  check_matrix("linear", "x", given.value());
  check_alike("linear", "x", given.value(), "w", w.value());
  const bool two_scales = dropping && dropping->scale.defined() && options.scale.defined();
  if (!two_scales && suits_one_kernel(given.value(), w.value(), dropping != nullptr)) {
    kernels::DroppedMatrix d{.x = given.value(), .scale = options.scale};
    if (dropping)
      d = {d.x, dropping->p, dropping->key, options.scale.defined() ? options.scale : dropping->scale};
    return in_one_kernel(d, given, w, bias, columns);
  }
  return finish(columns == n ? matmul(x.dense(), w) : matmul_padded(x.dense(), w, columns));
}

}  // namespace rodeo
