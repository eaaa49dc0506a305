#include <cmath>

#include "ops/cpu/loops.h"
#include "ops/kernels/dense.h"

namespace rodeo::kernels::cpu {

void scaled_sum(double a, const Tensor& s, const Tensor& x, double b, const Tensor& y, const Tensor& out) {
  dispatch_float(x.dtype(), "combine", [&]<class T>(T) {
    using Value = Accumulator<T>;
    const T *xp = x.data<T>(), *yp = y.defined() ? y.data<T>() : nullptr;
    T* op = out.data<T>();
    const Value factor = static_cast<Value>(a) + (s.defined() ? s.data<Value>()[0] : Value(0)),
                other = static_cast<Value>(b);
    for_each_element(x.numel(), [=](std::int64_t i) {
      op[i] = T(factor * load(xp[i]) + (yp ? other * load(yp[i]) : Value(0)));
    });
  });
}

void maximum(const Tensor& x, const Tensor& y, const Tensor& out) {
  dispatch_float(x.dtype(), "maximum", [&]<class T>(T) {
    const T *xp = x.data<T>(), *yp = y.data<T>();
    T* op = out.data<T>();
    for_each_element(x.numel(), [=](std::int64_t i) {
      const auto a = load(xp[i]), b = load(yp[i]);
      op[i] = a >= b || std::isnan(a) ? xp[i] : yp[i];
    });
  });
}

void maximum_backward(const Tensor& x, const Tensor& y, const Tensor& dout, const Tensor& dx,
                      const Tensor& dy) {
  dispatch_float(x.dtype(), "maximum", [&]<class T>(T) {
    const T *xp = x.data<T>(), *yp = y.data<T>(), *dp = dout.data<T>();
    T *dxp = dx.data<T>(), *dyp = dy.data<T>();
    for_each_element(x.numel(), [=](std::int64_t i) {
      const auto a = load(xp[i]), b = load(yp[i]);
      const bool first = a >= b || std::isnan(a);
      dxp[i] = first ? dp[i] : T(0.f);
      dyp[i] = first ? T(0.f) : dp[i];
    });
  });
}

void transpose_last(const Tensor& x, const Tensor& y) {
  dispatch_float(x.dtype(), "transpose_last", [&]<class T>(T) {
    const std::int64_t a = x.dim(1), b = x.dim(2);
    const T* from = x.data<T>();
    T* to = y.data<T>();
    for_each_row(x.dim(0) * b, a, [=](std::int64_t row) {
      for (std::int64_t i = 0; i < a; ++i) to[row * a + i] = from[(row / b * a + i) * b + row % b];
    });
  });
}

void copy_columns(const Tensor& from, std::int64_t begin, std::int64_t count, const Tensor& to,
                  std::int64_t at) {
  dispatch_float(from.dtype(), "concat_columns", [&]<class T>(T) {
    const T* source = from.data<T>() + begin;
    T* target = to.data<T>() + at;
    const std::int64_t source_width = from.dim(1), target_width = to.dim(1);
    for_each_row(from.dim(0), count, [=](std::int64_t i) {
      std::copy_n(source + i * source_width, count, target + i * target_width);
    });
  });
}

}  // namespace rodeo::kernels::cpu
