#include "ops/cpu/loops.h"
#include "ops/kernels/dense.h"

namespace rodeo::kernels::cpu {
namespace {

template <class T>
const Accumulator<T>* scales(const Tensor& scale) {
  return scale.defined() ? scale.data<Accumulator<T>>() : nullptr;
}

}  // namespace

void join_columns_scaled(const Tensor& a, const Tensor& scale, const Tensor& x, const Tensor& y) {
  dispatch_float(a.dtype(), "sage_concat", [&]<class T>(T) {
    const T *left = a.data<T>(), *right = x.data<T>();
    const auto* s = scales<T>(scale);
    T* out = y.data<T>();
    const std::int64_t n = a.dim(1), k = x.dim(1);
    for_each_row(y.dim(0), n + k, [=](std::int64_t i) {
      T* row = out + i * (n + k);
      for (std::int64_t j = 0; j < n; ++j) row[j] = s ? T(load(left[i * n + j]) * s[i]) : left[i * n + j];
      for (std::int64_t j = 0; j < k; ++j) row[n + j] = right[i * k + j];
    });
  });
}

void left_columns_scaled(const Tensor& x, const Tensor& scale, const Tensor& y) {
  dispatch_float(x.dtype(), "sage_concat", [&]<class T>(T) {
    const T* from = x.data<T>();
    const auto* s = scales<T>(scale);
    T* out = y.data<T>();
    const std::int64_t n = y.dim(1), pitch = x.dim(1);
    for_each_row(y.dim(0), n, [=](std::int64_t i) {
      for (std::int64_t j = 0; j < n; ++j)
        out[i * n + j] = s ? T(load(from[i * pitch + j]) * s[i]) : from[i * pitch + j];
    });
  });
}

void add_right_columns(const Tensor& x, const Tensor& y) {
  dispatch_float(x.dtype(), "sage_concat", [&]<class T>(T) {
    const std::int64_t n = y.dim(1), pitch = x.dim(1);
    const T* from = x.data<T>() + pitch - n;
    T* out = y.data<T>();
    for_each_row(x.dim(0), n, [=](std::int64_t i) {
      for (std::int64_t j = 0; j < n; ++j)
        out[i * n + j] = T(load(out[i * n + j]) + load(from[i * pitch + j]));
    });
  });
}

}  // namespace rodeo::kernels::cpu
