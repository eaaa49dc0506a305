// Columns of two matrices side by side, and their gradients (ops/sage_concat.h). Each pass reads and writes
// every element once: a thread has kVec elements of a row, grid-stride.
#include "ops/cuda/device/pack.cuh"
#include "ops/cuda/device/tensor_data.cuh"
#include "ops/kernels/dense.h"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = 256;

// Widths and pitches in packs. Grid grid_for(m * (n + k), kThreads), block kThreads.
template <class T, int kVec>
__global__ void join_columns_kernel(const T* a, const Accumulator<T>* scale, const T* x, T* y, std::int64_t n,
                                    std::int64_t k, std::int64_t size) {
  using Row = Pack<T, kVec>;
  RODEO_GRID_STRIDE(at, size) {
    const std::int64_t i = at / (n + k), j = at - i * (n + k);
    Row value =
        j < n ? reinterpret_cast<const Row*>(a)[i * n + j] : reinterpret_cast<const Row*>(x)[i * k + j - n];
    if (j < n && scale) {
      const Accumulator<T> factor = scale[i];
#pragma unroll
      for (int v = 0; v < kVec; ++v) value.value[v] = static_cast<T>(widen(value.value[v]) * factor);
    }
    reinterpret_cast<Row*>(y)[at] = value;
  }
}

// Grid grid_for(m * n, kThreads).
template <class T, int kVec>
__global__ void left_columns_kernel(const T* x, const Accumulator<T>* scale, T* y, std::int64_t n,
                                    std::int64_t pitch, std::int64_t size) {
  using Row = Pack<T, kVec>;
  RODEO_GRID_STRIDE(at, size) {
    const std::int64_t i = at / n, j = at - i * n;
    Row value = reinterpret_cast<const Row*>(x)[i * pitch + j];
    const Accumulator<T> factor = scale ? scale[i] : Accumulator<T>(1);
#pragma unroll
    for (int v = 0; v < kVec; ++v) value.value[v] = static_cast<T>(widen(value.value[v]) * factor);
    reinterpret_cast<Row*>(y)[at] = value;
  }
}

// Grid grid_for(m * n, kThreads).
template <class T, int kVec>
__global__ void add_right_columns_kernel(const T* x, T* y, std::int64_t n, std::int64_t pitch,
                                         std::int64_t size) {
  using Row = Pack<T, kVec>;
  RODEO_GRID_STRIDE(at, size) {
    const std::int64_t i = at / n, j = at - i * n;
    const Row term = reinterpret_cast<const Row*>(x)[i * pitch + pitch - n + j];
    Row sum = reinterpret_cast<const Row*>(y)[at];
#pragma unroll
    for (int v = 0; v < kVec; ++v) sum.value[v] = static_cast<T>(widen(sum.value[v]) + widen(term.value[v]));
    reinterpret_cast<Row*>(y)[at] = sum;
  }
}

/// Calls f.operator()<T, kVec>() with packs of up to 16 bytes that divide both widths.
template <class F>
void dispatch_packs(const std::vector<Tensor>& all, std::int64_t width, std::int64_t other, F&& f) {
  dispatch_float(all.front().dtype(), "sage_concat", [&]<class Host>(Host) {
    using T = device_t<Host>;
    constexpr int kMost = static_cast<int>(16 / sizeof(T));
    bool packed = width % kMost == 0 && other % kMost == 0;
    for (const Tensor& t : all) packed &= is_aligned(t);
    if (packed) return f.template operator()<T, kMost>();
    constexpr int kHalf = kMost / 2;
    bool halves = width % kHalf == 0 && other % kHalf == 0;
    for (const Tensor& t : all) halves &= is_aligned(t, kHalf * sizeof(T));
    if (halves) return f.template operator()<T, kHalf>();
    f.template operator()<T, 1>();
  });
}

}  // namespace

void join_columns_scaled(const Tensor& a, const Tensor& scale, const Tensor& x, const Tensor& y) {
  const std::int64_t n = a.dim(1), k = x.dim(1);
  dispatch_packs({a, x, y}, n, k, [&]<class T, int kVec>() {
    const std::int64_t size = y.numel() / kVec;
    launch("join_columns_scaled", y.device(), join_columns_kernel<T, kVec>, grid_for(size, kThreads),
           kThreads, 0, static_cast<const T*>(a.raw()), static_cast<const Accumulator<T>*>(scale.raw()),
           static_cast<const T*>(x.raw()), static_cast<T*>(y.raw()), n / kVec, k / kVec, size);
  });
}

void left_columns_scaled(const Tensor& x, const Tensor& scale, const Tensor& y) {
  const std::int64_t n = y.dim(1), pitch = x.dim(1);
  dispatch_packs({x, y}, n, pitch, [&]<class T, int kVec>() {
    const std::int64_t size = y.numel() / kVec;
    launch("left_columns_scaled", y.device(), left_columns_kernel<T, kVec>, grid_for(size, kThreads),
           kThreads, 0, static_cast<const T*>(x.raw()), static_cast<const Accumulator<T>*>(scale.raw()),
           static_cast<T*>(y.raw()), n / kVec, pitch / kVec, size);
  });
}

void add_right_columns(const Tensor& x, const Tensor& y) {
  const std::int64_t n = y.dim(1), pitch = x.dim(1);
  dispatch_packs({x, y}, n, pitch, [&]<class T, int kVec>() {
    const std::int64_t size = x.dim(0) * n / kVec;
    launch("add_right_columns", y.device(), add_right_columns_kernel<T, kVec>, grid_for(size, kThreads),
           kThreads, 0, static_cast<const T*>(x.raw()), static_cast<T*>(y.raw()), n / kVec, pitch / kVec,
           size);
  });
}

}  // namespace rodeo::kernels::cuda
