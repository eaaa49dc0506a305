#include <cmath>

#include "ops/cpu/loops.h"
#include "ops/cpu/random_block.h"
#include "ops/kernels/dense.h"
#include "ops/kernels/dropout.h"

namespace rodeo::kernels::cpu {

void add_bias(const Tensor& x, const Tensor& b, const Tensor& y) {
  dispatch_float(x.dtype(), "add_bias", [&]<class T>(T) {
    const T* xp = x.data<T>();
    const auto* bp = b.data<Accumulator<T>>();
    T* yp = y.data<T>();
    const std::int64_t n = x.dim(1);
    for_each_row(x.dim(0), n, [=](std::int64_t i) {
      for (std::int64_t j = 0; j < n; ++j) yp[i * n + j] = T(load(xp[i * n + j]) + bp[j]);
    });
  });
}

// Each thread sums whole columns, so that the order of addition does not depend on the number of threads.
void sum_rows(const Tensor& x, const Tensor& out) {
  dispatch_float(x.dtype(), "sum_rows", [&]<class T>(T) {
    const T* xp = x.data<T>();
    auto* op = out.data<Accumulator<T>>();
    const std::int64_t m = x.dim(0), n = x.dim(1);
    constexpr std::int64_t kColumns = 16;
#pragma omp parallel for if (m * n > kSerial)
    for (std::int64_t begin = 0; begin < n; begin += kColumns) {
      const std::int64_t width = std::min(kColumns, n - begin);
      double sum[kColumns] = {};
      for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < width; ++j) sum[j] += load(xp[i * n + begin + j]);
      for (std::int64_t j = 0; j < width; ++j) op[begin + j] = static_cast<Accumulator<T>>(sum[j]);
    }
  });
}

void relu(const Tensor& x, const Tensor& y) {
  dispatch_float(x.dtype(), "relu", [&]<class T>(T) {
    const T* xp = x.data<T>();
    T* yp = y.data<T>();
    for_each_element(x.numel(), [=](std::int64_t i) {
      const auto value = load(xp[i]);
      yp[i] = T(value <= 0 ? decltype(value)(0) : value);  // NaN is not <= 0
    });
  });
}

void relu_backward(const Tensor& y, const Tensor& dy, const Tensor& dx) {
  dispatch_float(y.dtype(), "relu", [&]<class T>(T) {
    const T *yp = y.data<T>(), *dyp = dy.data<T>();
    T* dxp = dx.data<T>();
    for_each_element(y.numel(), [=](std::int64_t i) { dxp[i] = load(yp[i]) > 0 ? dyp[i] : T(0.f); });
  });
}

void dropout(const Tensor& x, double p, RandomKey key, const Tensor& y) {
  dispatch_float(x.dtype(), "dropout", [&]<class T>(T) {
    const T* xp = x.data<T>();
    T* yp = y.data<T>();
    const auto scale = static_cast<Accumulator<T>>(1 / (1 - p));
    const auto threshold = static_cast<float>(p);
    const std::uint64_t stream = key.stream_now();
    const std::int64_t n = x.numel();
    const std::uint64_t before = first_quad(key, n / x.dim(0));
#pragma omp parallel for if (n > kSerial)
    for (std::int64_t begin = 0; begin < n; begin += kBlock) {
      float unit[kBlock];
      random_block(key.seed, stream, before + static_cast<std::uint64_t>(begin / 4), unit);
      const int count = static_cast<int>(std::min<std::int64_t>(kBlock, n - begin));
      for (int k = 0; k < count; ++k)
        yp[begin + k] = unit[k] < threshold ? T(0.f) : T(load(xp[begin + k]) * scale);
    }
  });
}

void uniform(const Tensor& out, float lo, float hi, RandomKey key) {
  dispatch_float(out.dtype(), "uniform", [&]<class T>(T) {
    T* p = out.data<T>();
    const std::uint64_t stream = key.stream_now();
    for_each_element(out.numel(), [=](std::int64_t i) {
      p[i] = T(uniform_between(lo, hi, random_word(key.seed, stream, static_cast<std::uint64_t>(i))));
    });
  });
}

void scale_rows(const Tensor& x, const Tensor& s, const Tensor& y) {
  dispatch_float(x.dtype(), "scale_rows", [&]<class T>(T) {
    const T* xp = x.data<T>();
    const auto* sp = s.data<Accumulator<T>>();
    T* yp = y.data<T>();
    const std::int64_t n = x.dim(1);
    for_each_row(x.dim(0), n, [=](std::int64_t i) {
      for (std::int64_t j = 0; j < n; ++j) yp[i * n + j] = T(load(xp[i * n + j]) * sp[i]);
    });
  });
}

void normalize_rows(const Tensor& x, const Tensor& y) {
  dispatch_float(x.dtype(), "normalize_rows", [&]<class T>(T) {
    const T* xp = x.data<T>();
    T* yp = y.data<T>();
    const std::int64_t n = x.dim(1);
    for_each_row(x.dim(0), n, [=](std::int64_t i) {
      Accumulator<T> sum = 0;
      for (std::int64_t j = 0; j < n; ++j) sum += std::abs(load(xp[i * n + j]));
      for (std::int64_t j = 0; j < n; ++j) yp[i * n + j] = T(sum == 0 ? sum : load(xp[i * n + j]) / sum);
    });
  });
}

void inverse_sqrt(const Tensor& x, const Tensor& y) {
  dispatch_float(x.dtype(), "inverse_sqrt", [&]<class T>(T) {
    const T* xp = x.data<T>();
    T* yp = y.data<T>();
    for_each_element(x.numel(), [=](std::int64_t i) {
      const auto value = load(xp[i]);
      yp[i] = T(value > 0 ? 1 / std::sqrt(value) : decltype(value)(0));
    });
  });
}

}  // namespace rodeo::kernels::cpu
