#include "ops/cpu/loops.h"
#include "ops/kernels/attention.h"

namespace rodeo::kernels::cpu {

void head_dot(const Tensor& x, const Tensor& a, const Tensor& y, const Tensor& a2, const Tensor& y2) {
  if (a2.defined()) head_dot(x, a2, y2, {}, {});
  dispatch_float(x.dtype(), "head_dot", [&]<class T>(T) {
    const T* xp = x.data<T>();
    const auto* ap = a.data<Accumulator<T>>();
    T* yp = y.data<T>();
    const std::int64_t heads = x.dim(1), k = x.dim(2);
    for_each_row(x.dim(0) * heads, k, [=](std::int64_t i) {
      const T* row = xp + i * k;
      const auto* vector = ap + i % heads * k;
      Accumulator<T> sum = 0;
      for (std::int64_t j = 0; j < k; ++j) sum += load(row[j]) * vector[j];
      yp[i] = T(sum);
    });
  });
}

void head_outer(const Tensor& dy, const Tensor& a, const Tensor& dy2, const Tensor& a2, const Tensor& dx) {
  dispatch_float(dx.dtype(), "head_dot", [&]<class T>(T) {
    using Sum = Accumulator<T>;
    const T *dyp = dy.data<T>(), *dy2p = dy2.defined() ? dy2.data<T>() : nullptr;
    const Sum *ap = a.data<Sum>(), *a2p = dy2p ? a2.data<Sum>() : nullptr;
    T* dxp = dx.data<T>();
    const std::int64_t heads = dx.dim(1), k = dx.dim(2);
    for_each_row(dx.dim(0) * heads, k, [=](std::int64_t i) {
      const std::int64_t head = i % heads * k;
      for (std::int64_t j = 0; j < k; ++j) {
        auto value = load(dyp[i]) * ap[head + j];
        if (dy2p) value += load(dy2p[i]) * a2p[head + j] + load(dxp[i * k + j]);
        dxp[i * k + j] = T(value);
      }
    });
  });
}

// Each thread sums whole columns, so that the order of addition does not depend on the number of threads.
void head_dot_sum(const Tensor& dy, const Tensor& x, const Tensor& da, const Tensor& dy2, const Tensor& da2) {
  if (dy2.defined()) head_dot_sum(dy2, x, da2, {}, {});
  dispatch_float(x.dtype(), "head_dot", [&]<class T>(T) {
    const T *dyp = dy.data<T>(), *xp = x.data<T>();
    auto* dap = da.data<Accumulator<T>>();
    const std::int64_t n = x.dim(0), heads = x.dim(1), k = x.dim(2);
#pragma omp parallel for if (n * heads * k > kSerial)
    for (std::int64_t h = 0; h < heads; ++h) {
      std::vector<double> sum(static_cast<std::size_t>(k));
      for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < k; ++j)
          sum[j] += static_cast<double>(load(dyp[i * heads + h])) * load(xp[(i * heads + h) * k + j]);
      for (std::int64_t j = 0; j < k; ++j) dap[h * k + j] = static_cast<Accumulator<T>>(sum[j]);
    }
  });
}

void head_mean(const Tensor& x, const Tensor& y) {
  dispatch_float(x.dtype(), "head_mean", [&]<class T>(T) {
    const T* xp = x.data<T>();
    T* yp = y.data<T>();
    const std::int64_t heads = x.dim(1), k = x.dim(2);
    for_each_row(x.dim(0), heads * k, [=](std::int64_t i) {
      for (std::int64_t j = 0; j < k; ++j) {
        Accumulator<T> sum = 0;
        for (std::int64_t h = 0; h < heads; ++h) sum += load(xp[(i * heads + h) * k + j]);
        yp[i * k + j] = T(sum / static_cast<Accumulator<T>>(heads));
      }
    });
  });
}

void head_mean_backward(const Tensor& dy, const Tensor& dx) {
  dispatch_float(dx.dtype(), "head_mean", [&]<class T>(T) {
    const T* dyp = dy.data<T>();
    T* dxp = dx.data<T>();
    const std::int64_t heads = dx.dim(1), k = dx.dim(2);
    for_each_row(dx.dim(0) * heads, k, [=](std::int64_t i) {
      const T* row = dyp + i / heads * k;
      for (std::int64_t j = 0; j < k; ++j)
        dxp[i * k + j] = T(load(row[j]) / static_cast<Accumulator<T>>(heads));
    });
  });
}

}  // namespace rodeo::kernels::cpu
