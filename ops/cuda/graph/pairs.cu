// Dot and elementwise products of the rows of two nodes, and their gradients (ops/pairs.h). A gradient sorts
// the positions by index, then sums each row in that order: no atomics, and nothing waits for the host.
#include <cub/device/device_radix_sort.cuh>

#include "core/cuda/index_fault.cuh"
#include "ops/cuda/device/pack.cuh"
#include "ops/cuda/device/scan.cuh"
#include "ops/cuda/device/tensor_data.cuh"
#include "ops/cuda/device/warp_reduce.cuh"
#include "ops/kernels/pairs.h"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kDotLanes = 16;  // of one pair
constexpr int kColumns = 4;    // sums of a lane in one pass over a row's positions

int bits_for(std::int64_t count) {
  int bits = 1;
  while (bits < 31 && (std::int64_t{1} << bits) < count) ++bits;
  return bits;
}

// kDotLanes lanes a pair; grid ceil(k * kDotLanes / kThreads), block kThreads.
template <class T>
__global__ void pair_dot_kernel(const T* a, std::int64_t a_rows, const T* b, std::int64_t b_rows,
                                const std::int64_t* src, const std::int64_t* dst, std::int64_t k,
                                std::int64_t n, T* s, IndexCheck src_check, IndexCheck dst_check) {
  using A = decltype(widen(T{}));
  const std::int64_t i = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) / kDotLanes;
  const int lane = threadIdx.x % kDotLanes;
  A sum = 0;
  if (i < k) {
    const std::int64_t from = src[i], to = dst[i];
    const bool known = is_index(from, a_rows, i, src_check) & is_index(to, b_rows, i, dst_check);
    if (known) {
      for (std::int64_t j = lane; j < n; j += kDotLanes) sum += widen(a[from * n + j]) * widen(b[to * n + j]);
    } else {
      sum = NAN;
    }
  }
  sum = reduce_lanes<kDotLanes>(sum, [](A x, A y) { return x + y; });
  if (i < k && lane == 0) s[i] = static_cast<T>(sum);
}

// Grid-stride over the elements of y [k, n], block kThreads.
template <class T>
__global__ void pair_mul_kernel(const T* a, std::int64_t a_rows, const T* b, std::int64_t b_rows,
                                const std::int64_t* src, const std::int64_t* dst, std::int64_t n,
                                std::int64_t size, T* y, IndexCheck src_check, IndexCheck dst_check) {
  using A = decltype(widen(T{}));
  RODEO_GRID_STRIDE(at, size) {
    const std::int64_t i = quotient(at, n), j = at - i * n, from = src[i], to = dst[i];
    const bool known = is_index(from, a_rows, i, src_check) & is_index(to, b_rows, i, dst_check);
    y[at] = static_cast<T>(known ? widen(a[from * n + j]) * widen(b[to * n + j]) : A(NAN));
  }
}

// Keys of the sort: indices out of range come last. Grid-stride, block kThreads.
__global__ void index_keys_kernel(const std::int64_t* index, std::int64_t k, std::int64_t rows,
                                  std::uint32_t* key, std::int32_t* position) {
  RODEO_GRID_STRIDE(i, k) {
    const std::int64_t row = index[i];
    key[i] = static_cast<std::uint32_t>(row < 0 || row > rows ? rows : row);
    position[i] = static_cast<std::int32_t>(i);
  }
}

// row_ptr[r] is the number of sorted keys below r. Grid-stride over rows + 1, block kThreads.
__global__ void key_bounds_kernel(const std::uint32_t* key, std::int64_t k, std::int64_t rows,
                                  std::int64_t* row_ptr) {
  RODEO_GRID_STRIDE(row, rows + 1) {
    std::int64_t begin = 0, end = k;
    while (begin < end) {
      const std::int64_t middle = begin + (end - begin) / 2;
      if (key[middle] < row)
        begin = middle + 1;
      else
        end = middle;
    }
    row_ptr[row] = begin;
  }
}

// A warp a row of dx; grid ceil(rows / warps of a block), block kThreads. kWide: dy is [k, n], else [k].
template <class T, bool kWide>
__global__ void pair_backward_kernel(const T* dy, const T* other, std::int64_t other_rows,
                                     const std::int64_t* at, const std::int32_t* order,
                                     const std::int64_t* row_ptr, std::int64_t rows, std::int64_t n, T* dx) {
  using A = decltype(widen(T{}));
  const std::int64_t row = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) / kWarp;
  if (row >= rows) return;
  const std::int64_t begin = row_ptr[row], end = row_ptr[row + 1];
  for (std::int64_t first = threadIdx.x % kWarp; first < n; first += kWarp * kColumns) {
    A sum[kColumns] = {};
    for (std::int64_t e = begin; e < end; ++e) {
      const std::int64_t i = order[e], to = at[i];
      if (static_cast<std::uint64_t>(to) >= static_cast<std::uint64_t>(other_rows)) continue;
#pragma unroll
      for (int c = 0; c < kColumns; ++c) {
        const std::int64_t j = first + c * kWarp;
        if (j < n) sum[c] += widen(dy[kWide ? i * n + j : i]) * widen(other[to * n + j]);
      }
    }
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
      const std::int64_t j = first + c * kWarp;
      if (j < n) dx[row * n + j] = static_cast<T>(sum[c]);
    }
  }
}

}  // namespace

void pair_dot(const Tensor& a, const Tensor& b, const Tensor& src, const Tensor& dst, const Tensor& s) {
  const Device device = s.device();
  dispatch_float(a.dtype(), "pair_dot", [&]<class T>(T) {
    launch("pair_dot", device, pair_dot_kernel<device_t<T>>,
           dim3(static_cast<unsigned>(ceil_div(s.numel() * kDotLanes, kThreads))), kThreads, 0,
           device_data<T>(a), a.dim(0), device_data<T>(b), b.dim(0), src.data<std::int64_t>(),
           dst.data<std::int64_t>(), s.numel(), a.dim(1), device_data<T>(s),
           index_check(device, "pair_dot", "src"), index_check(device, "pair_dot", "dst"));
  });
}

void pair_mul(const Tensor& a, const Tensor& b, const Tensor& src, const Tensor& dst, const Tensor& y) {
  const Device device = y.device();
  dispatch_float(a.dtype(), "pair_mul", [&]<class T>(T) {
    launch("pair_mul", device, pair_mul_kernel<device_t<T>>, grid_for(y.numel(), kThreads), kThreads, 0,
           device_data<T>(a), a.dim(0), device_data<T>(b), b.dim(0), src.data<std::int64_t>(),
           dst.data<std::int64_t>(), a.dim(1), y.numel(), device_data<T>(y),
           index_check(device, "pair_mul", "src"), index_check(device, "pair_mul", "dst"));
  });
}

void group_by_index(const Tensor& index, const Tensor& order, const Tensor& row_ptr) {
  const Device device = index.device();
  const std::int64_t k = index.numel(), rows = row_ptr.numel() - 1;
  const Tensor keys = Tensor::empty({2, k}, DType::kI32, device);
  const Tensor position = Tensor::empty({k}, DType::kI32, device);
  auto* key = static_cast<std::uint32_t*>(keys.raw());
  launch("index_keys", device, index_keys_kernel, grid_for(k, kThreads), kThreads, 0,
         index.data<std::int64_t>(), k, rows, key, position.data<std::int32_t>());
  with_scratch("group_by_index", device, [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortPairs(scratch, bytes, key, key + k, position.data<std::int32_t>(),
                                           order.data<std::int32_t>(), k, 0, bits_for(rows + 1),
                                           Context::of(device).stream());
  });
  launch("key_bounds", device, key_bounds_kernel, grid_for(rows + 1, kThreads), kThreads, 0, key + k, k, rows,
         row_ptr.data<std::int64_t>());
}

void pair_backward(const Tensor& dy, const Tensor& other, const Tensor& at, const Tensor& order,
                   const Tensor& row_ptr, const Tensor& dx) {
  dispatch_float(dx.dtype(), "pair_backward", [&]<class T>(T) {
    using D = device_t<T>;
    const auto kernel = dy.rank() == 2 ? pair_backward_kernel<D, true> : pair_backward_kernel<D, false>;
    launch("pair_backward", dx.device(), kernel,
           dim3(static_cast<unsigned>(ceil_div(dx.dim(0) * kWarp, kThreads))), kThreads, 0,
           device_data<T>(dy), device_data<T>(other), other.dim(0), at.data<std::int64_t>(),
           order.data<std::int32_t>(), row_ptr.data<std::int64_t>(), dx.dim(0), dx.dim(1),
           device_data<T>(dx));
  });
}

}  // namespace rodeo::kernels::cuda
