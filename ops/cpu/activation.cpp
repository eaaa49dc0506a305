#include <cmath>

#include "ops/cpu/loops.h"
#include "ops/kernels/dense.h"

namespace rodeo::kernels::cpu {
namespace {

constexpr double kInvSqrt2 = 0.70710678118654752440, kInvSqrt2Pi = 0.39894228040143267794;

/// out[i] = f(a[i]), and out[i] = f(a[i], b[i]), computed in the accumulator type.
template <class F>
void map(const char* op, const Tensor& a, const Tensor& out, F&& f) {
  dispatch_float(a.dtype(), op, [&]<class T>(T) {
    const T* ap = a.data<T>();
    T* to = out.data<T>();
    for_each_element(a.numel(), [=](std::int64_t i) { to[i] = T(f(load(ap[i]))); });
  });
}

template <class F>
void map(const char* op, const Tensor& a, const Tensor& b, const Tensor& out, F&& f) {
  dispatch_float(a.dtype(), op, [&]<class T>(T) {
    const T *ap = a.data<T>(), *bp = b.data<T>();
    T* to = out.data<T>();
    for_each_element(a.numel(), [=](std::int64_t i) { to[i] = T(f(load(ap[i]), load(bp[i]))); });
  });
}

}  // namespace

void leaky_relu(const Tensor& x, double slope, const Tensor& y) {
  map("leaky_relu", x, y, [=](auto v) {
    const decltype(v) below = decltype(v)(slope) * v;  // outside the condition: without a branch
    return v > 0 ? v : below;
  });
}

void leaky_relu_backward(const Tensor& y, const Tensor& dy, double slope, const Tensor& dx) {
  map("leaky_relu", y, dy, dx, [=](auto v, auto d) {
    const decltype(d) below = decltype(d)(slope) * d;
    return v > 0 ? d : below;
  });
}

void elu(const Tensor& x, const Tensor& y) {
  map("elu", x, y, [](auto v) { return v > 0 ? v : std::expm1(v); });
}

void elu_backward(const Tensor& y, const Tensor& dy, const Tensor& dx) {
  map("elu", y, dy, dx, [](auto v, auto d) { return v > 0 ? d : (v + 1) * d; });
}

void gelu(const Tensor& x, const Tensor& y) {
  map("gelu", x, y, [](auto v) {
    using S = decltype(v);
    // -infinity times the zero probability is 0.
    const S p = std::erfc(-v * S(kInvSqrt2)) / 2;
    return p == 0 ? S(0) : v * p;
  });
}

void gelu_backward(const Tensor& x, const Tensor& dy, const Tensor& dx) {
  map("gelu", x, dy, dx, [](auto v, auto d) {
    using S = decltype(v);
    const S density = S(kInvSqrt2Pi) * std::exp(-v * v / 2);
    return d * (std::erfc(-v * S(kInvSqrt2)) / 2 + (density == 0 ? S(0) : v * density));
  });
}

void mul(const Tensor& x, const Tensor& y, const Tensor& out) {
  map("mul", x, y, out, [](auto a, auto b) { return a * b; });
}

void smooth(SmoothFunction f, const Tensor& x, const Tensor& y) {
  switch (f) {
    case SmoothFunction::kSigmoid:
      return map("sigmoid", x, y, [](auto v) { return 1 / (1 + std::exp(-v)); });
    case SmoothFunction::kTanh:
      return map("tanh", x, y, [](auto v) { return std::tanh(v); });
    case SmoothFunction::kExp:
      return map("exp", x, y, [](auto v) { return std::exp(v); });
    case SmoothFunction::kLog:
      return map("log", x, y, [](auto v) { return std::log(v); });
    case SmoothFunction::kDeviation:
      return map("deviation", x, y,
                 [](auto v) { return v <= kLeastVariance ? decltype(v)(0) : std::sqrt(v); });
  }
}

void smooth_backward(SmoothFunction f, const Tensor& y, const Tensor& dy, const Tensor& dx) {
  switch (f) {
    case SmoothFunction::kSigmoid:
      return map("sigmoid", y, dy, dx, [](auto v, auto d) { return v * (1 - v) * d; });
    case SmoothFunction::kTanh:
      return map("tanh", y, dy, dx, [](auto v, auto d) { return (1 - v * v) * d; });
    case SmoothFunction::kExp:
      return map("exp", y, dy, dx, [](auto v, auto d) { return v * d; });
    case SmoothFunction::kLog:
      return map("log", y, dy, dx, [](auto v, auto d) { return d * std::exp(-v); });
    case SmoothFunction::kDeviation:
      return map("deviation", y, dy, dx,
                 [](auto v, auto d) { return v == 0 ? decltype(v)(0) : d / (2 * v); });
  }
}

}  // namespace rodeo::kernels::cpu
