#include "ops/pointwise.h"

#include "ops/checks.h"
#include "ops/combine.h"
#include "ops/kernels/dense.h"

namespace rodeo {
namespace {

using kernels::SmoothFunction;

Tensor like(const Tensor& x) {
  return Tensor::empty(x.shape(), x.dtype(), x.device());
}

Tensor apply(std::string_view op, SmoothFunction f, const Tensor& x) {
  check(x.defined(), "[", op, "] x is undefined");
  check(is_float(x.dtype()), "[", op, "] x must be floating point, got ", x.dtype());
  const Tensor y = like(x);
  if (y.numel() > 0) kernels::smooth.on(y.device())(f, x, y);
  return y;
}

Tensor times_slope(SmoothFunction f, const Tensor& y, const Tensor& dy) {
  const Tensor dx = like(dy);
  if (dx.numel() > 0) kernels::smooth_backward.on(dx.device())(f, y, dy, dx);
  return dx;
}

Variable times_slope(SmoothFunction f, const Variable& y, const Variable& dy) {
  const Variable z = mul(y, dy);
  const auto minus = [](const Variable& a, const Variable& b) { return linear_combination(1, a, -1, b); };
  switch (f) {
    case SmoothFunction::kExp:
      return z;
    case SmoothFunction::kSigmoid:
      return minus(z, mul(y, z));
    case SmoothFunction::kTanh:
      return minus(dy, mul(y, z));
    case SmoothFunction::kLog:  // 1 / x is exp(-y)
      return mul(exp(linear_combination(-1, y, 0, y)), dy);
    default:
      fail("[autograd] deviation() has no second derivative");
  }
}

// The derivative is a function of y alone, so that x can be freed.
Variable recorded(const char* op, SmoothFunction f, const Variable& x) {
  const SavedTensor y(apply(op, f, x.value()));
  return record(
      op, y.get(), {x}, [=](const auto& dy) { return std::vector{times_slope(f, y.like(dy), dy)}; }, y);
}

}  // namespace

Tensor mul(const Tensor& x, const Tensor& y) {
  check(x.defined(), "[mul] x is undefined");
  check(is_float(x.dtype()), "[mul] x must be floating point, got ", x.dtype());
  check_alike("mul", "x", x, "y", y);
  check_shape("mul", "y", y, x.shape());
  const Tensor out = like(x);
  if (out.numel() > 0) kernels::mul.on(out.device())(x, y, out);
  return out;
}

Variable mul(const Variable& x, const Variable& y) {
  // Each gradient needs the other factor.
  SavedTensor kept_x, kept_y;
  if (y.requires_grad()) kept_x = x.saved();
  if (x.requires_grad()) kept_y = y.saved();
  return record("mul", mul(x.value(), y.value()), {x, y}, [=](const auto& dout) {
    using T = std::decay_t<decltype(dout)>;
    return std::vector{kept_y.defined() ? mul(kept_y.like(dout), dout) : T(),
                       kept_x.defined() ? mul(kept_x.like(dout), dout) : T()};
  });
}

Tensor sigmoid(const Tensor& x) {
  return apply("sigmoid", SmoothFunction::kSigmoid, x);
}

Variable sigmoid(const Variable& x) {
  return recorded("sigmoid", SmoothFunction::kSigmoid, x);
}

Tensor tanh(const Tensor& x) {
  return apply("tanh", SmoothFunction::kTanh, x);
}

Variable tanh(const Variable& x) {
  return recorded("tanh", SmoothFunction::kTanh, x);
}

Tensor exp(const Tensor& x) {
  return apply("exp", SmoothFunction::kExp, x);
}

Variable exp(const Variable& x) {
  return recorded("exp", SmoothFunction::kExp, x);
}

Tensor log(const Tensor& x) {
  return apply("log", SmoothFunction::kLog, x);
}

Variable log(const Variable& x) {
  return recorded("log", SmoothFunction::kLog, x);
}

Tensor deviation(const Tensor& x) {
  return apply("deviation", SmoothFunction::kDeviation, x);
}

Variable deviation(const Variable& x) {
  return recorded("deviation", SmoothFunction::kDeviation, x);
}

}  // namespace rodeo
