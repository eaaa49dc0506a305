// Dots, sums and means over the heads of [n, heads, k]: each reads its operands once, 16 bytes at a time
// where k and the addresses allow.
#include <algorithm>

#include "ops/cuda/gather.cuh"  // Pack, widen

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = 256;

// The (row, head) pairs that a group of `lanes` threads visits, by a stride of whole grids. All lanes of a
// warp make the same number of steps, so that they can shuffle; `valid` is false past the end. The head is
// carried along, for a division costs more than the 16 bytes it would be for.
struct Walk {
  std::int64_t item, items, stride;
  std::int64_t head, heads, head_stride;
  std::int64_t warp_first;

  __device__ Walk(std::int64_t items, std::int64_t heads, int lanes) : items(items), heads(heads) {
    const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
    item = thread / lanes;
    warp_first = thread / kWarp * kWarp / lanes;
    stride = static_cast<std::int64_t>(gridDim.x) * kThreads / lanes;
    head = item % heads;
    head_stride = stride % heads;
  }
  __device__ bool more() const { return warp_first < items; }  // the same for all lanes of a warp
  __device__ bool valid() const { return item < items; }
  __device__ void next() {
    item += stride;
    warp_first += stride;
    head += head_stride;
    if (head >= heads) head -= heads;
  }
};

// A group of `lanes` threads (a power of two up to a warp) per (row, head); k is a multiple of kVec.
template <class T, int kVec>
__global__ void head_dot_kernel(const T* x, const T* a, T* y, std::int64_t items, std::int64_t heads,
                                std::int64_t k, int lanes) {
  using Row = Pack<T, kVec>;
  const int lane = static_cast<int>(threadIdx.x) & (lanes - 1);
  for (Walk walk(items, heads, lanes); walk.more(); walk.next()) {
    Accumulator<T> sum = 0;
    if (walk.valid())
      for (std::int64_t j = lane * kVec; j < k; j += lanes * kVec) {
        const Row row = *reinterpret_cast<const Row*>(x + walk.item * k + j);
        const Row vector = *reinterpret_cast<const Row*>(a + walk.head * k + j);
#pragma unroll
        for (int v = 0; v < kVec; ++v) sum += widen(row.value[v]) * widen(vector.value[v]);
      }
    for (int offset = lanes / 2; offset > 0; offset /= 2) sum += __shfl_xor_sync(kFullMask, sum, offset);
    if (lane == 0 && walk.valid()) y[walk.item] = static_cast<T>(sum);
  }
}

// As above, without a sum: dx = dy a, or with dy2 dx += dy a + dy2 a2.
template <class T, int kVec>
__global__ void head_outer_kernel(const T* dy, const T* a, const T* dy2, const T* a2, T* dx,
                                  std::int64_t items, std::int64_t heads, std::int64_t k, int lanes) {
  using Row = Pack<T, kVec>;
  const int lane = static_cast<int>(threadIdx.x) & (lanes - 1);
  for (Walk walk(items, heads, lanes); walk.valid(); walk.next()) {
    const auto scale = widen(dy[walk.item]);
    const auto scale2 = dy2 ? widen(dy2[walk.item]) : Accumulator<T>(0);
    for (std::int64_t j = lane * kVec; j < k; j += lanes * kVec) {
      const Row vector = *reinterpret_cast<const Row*>(a + walk.head * k + j);
      Row out;
#pragma unroll
      for (int v = 0; v < kVec; ++v) out.value[v] = static_cast<T>(scale * widen(vector.value[v]));
      Row* const to = reinterpret_cast<Row*>(dx + walk.item * k + j);
      if (dy2) {
        const Row vector2 = *reinterpret_cast<const Row*>(a2 + walk.head * k + j), before = *to;
#pragma unroll
        for (int v = 0; v < kVec; ++v)
          out.value[v] = static_cast<T>(widen(before.value[v]) + scale * widen(vector.value[v]) +
                                        scale2 * widen(vector2.value[v]));
      }
      *to = out;
    }
  }
}

// The first pass of two over the rows: a block of 32 columns x 8 rows for each chunk of rows, as in sum_rows.
constexpr int kColumns = 32, kRows = 8, kMaxChunks = 1024;

template <class T>
__global__ void head_dot_sum_kernel(const T* dy, const T* x, Accumulator<T>* partial, std::int64_t n,
                                    std::int64_t heads, std::int64_t k, std::int64_t chunk) {
  __shared__ Accumulator<T> shared[kRows][kColumns];
  const std::int64_t width = heads * k;
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * kColumns + threadIdx.x;
  const std::int64_t begin = blockIdx.y * chunk, end = begin + chunk < n ? begin + chunk : n;
  Accumulator<T> sum = 0;
  if (column < width) {
    const std::int64_t head = column / k;
#pragma unroll 4
    for (std::int64_t i = begin + threadIdx.y; i < end; i += kRows)
      sum += widen(dy[i * heads + head]) * widen(x[i * width + column]);
  }
  shared[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y > 0 || column >= width) return;
#pragma unroll
  for (int r = 1; r < kRows; ++r) sum += shared[r][threadIdx.x];
  partial[blockIdx.y * width + column] = sum;
}

// One thread per element of y, grid-stride.
template <class T>
__global__ void head_mean_kernel(const T* x, T* y, std::int64_t size, std::int64_t heads, std::int64_t k) {
  RODEO_GRID_STRIDE(i, size) {
    const T* at = x + i / k * heads * k + i % k;
    Accumulator<T> sum = 0;
    for (std::int64_t h = 0; h < heads; ++h) sum += widen(at[h * k]);
    y[i] = static_cast<T>(sum / static_cast<Accumulator<T>>(heads));
  }
}

// One thread per element of dy, which it writes once for each head.
template <class T>
__global__ void head_mean_backward_kernel(const T* dy, T* dx, std::int64_t size, std::int64_t heads,
                                          std::int64_t k) {
  RODEO_GRID_STRIDE(i, size) {
    T* at = dx + i / k * heads * k + i % k;
    const T share = static_cast<T>(widen(dy[i]) / static_cast<Accumulator<T>>(heads));
    for (std::int64_t h = 0; h < heads; ++h) at[h * k] = share;
  }
}

template <class T>
auto* pointer(const Tensor& t) {
  return static_cast<device_t<T>*>(t.raw());
}

// Threads for k elements, kVec at a time: the power of two that covers them, up to a warp.
int lanes_for(std::int64_t k, int vec) {
  int lanes = 1;
  while (lanes < kWarp && static_cast<std::int64_t>(lanes) * vec < k) lanes *= 2;
  return lanes;
}

// f.operator()<kVec>(): 16 bytes where every head's row begins at a multiple of them, else an element.
template <class T, class F>
void with_vectors(const Tensor& x, const Tensor& a, F&& f) {
  constexpr int kVec = 16 / sizeof(T);
  if (x.dim(2) % kVec == 0 && is_aligned(x) && is_aligned(a))
    f.template operator()<kVec>();
  else
    f.template operator()<1>();
}

}  // namespace

void head_dot(const Tensor& x, const Tensor& a, const Tensor& y) {
  dispatch_float(x.dtype(), "head_dot", [&]<class T>(T) {
    with_vectors<T>(x, a, [&]<int kVec>() {
      const std::int64_t items = y.numel(), k = x.dim(2);
      const int lanes = lanes_for(k, kVec);
      launch("head_dot", y.device(), head_dot_kernel<device_t<T>, kVec>, grid_for(items * lanes, kThreads),
             kThreads, 0, pointer<T>(x), pointer<T>(a), pointer<T>(y), items, x.dim(1), k, lanes);
    });
  });
}

void head_outer(const Tensor& dy, const Tensor& a, const Tensor& dy2, const Tensor& a2, const Tensor& dx) {
  dispatch_float(dx.dtype(), "head_dot", [&]<class T>(T) {
    with_vectors<T>(dx, a, [&]<int kVec>() {
      const std::int64_t items = dy.numel(), k = dx.dim(2);
      const int lanes = lanes_for(k, kVec);
      launch("head_outer", dx.device(), head_outer_kernel<device_t<T>, kVec>,
             grid_for(items * lanes, kThreads), kThreads, 0, pointer<T>(dy), pointer<T>(a), pointer<T>(dy2),
             pointer<T>(a2), pointer<T>(dx), items, dx.dim(1), k, lanes);
    });
  });
}

void head_dot_sum(const Tensor& dy, const Tensor& x, const Tensor& da) {
  const std::int64_t n = x.dim(0), heads = x.dim(1), k = x.dim(2), width = heads * k;
  if (n == 0) return da.fill(0);
  dispatch_float(x.dtype(), "head_dot", [&]<class T>(T) {
    using D = device_t<T>;
    const std::int64_t chunk = std::max<std::int64_t>(64, ceil_div(n, kMaxChunks));
    const std::int64_t chunks = ceil_div(n, chunk);
    const Tensor partial = Tensor::empty({chunks, width}, dtype_of<Accumulator<D>>(), x.device());
    const dim3 grid(static_cast<unsigned>(ceil_div(width, kColumns)), static_cast<unsigned>(chunks));
    launch("head_dot_sum", x.device(), head_dot_sum_kernel<D>, grid, dim3(kColumns, kRows), 0, pointer<T>(dy),
           pointer<T>(x), partial.data<Accumulator<D>>(), n, heads, k, chunk);
    const bool wide = partial.dtype() == da.dtype();
    const Tensor total = wide ? da : Tensor::empty(da.shape(), partial.dtype(), da.device());
    sum_rows(partial, total);
    if (!wide) da.copy_from(total.to(da.dtype()));
  });
}

void head_mean(const Tensor& x, const Tensor& y) {
  dispatch_float(x.dtype(), "head_mean", [&]<class T>(T) {
    launch("head_mean", y.device(), head_mean_kernel<device_t<T>>, grid_for(y.numel(), kThreads), kThreads, 0,
           pointer<T>(x), pointer<T>(y), y.numel(), x.dim(1), x.dim(2));
  });
}

void head_mean_backward(const Tensor& dy, const Tensor& dx) {
  dispatch_float(dx.dtype(), "head_mean", [&]<class T>(T) {
    launch("head_mean_backward", dx.device(), head_mean_backward_kernel<device_t<T>>,
           grid_for(dy.numel(), kThreads), kThreads, 0, pointer<T>(dy), pointer<T>(dx), dy.numel(), dx.dim(1),
           dx.dim(2));
  });
}

}  // namespace rodeo::kernels::cuda
