// Dots, outer products, sums and means over the heads of x [n, heads, k]. Each kernel reads its operands
// once, 16 bytes at a time where k and the alignment allow. f64 is read by elements: its kernels are a
// reference.
#include "ops/cuda/device/column_sums.cuh"
#include "ops/cuda/device/tensor_data.cuh"
#include "ops/kernels/attention.h"
#include "ops/plan/attention_config.h"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = HeadDotConfig::kThreads;

// Grid-stride loop over (row, head) pairs for groups of `lanes` threads. The head advances with the pair: a
// 64-bit division would cost more than the load it serves.
struct HeadLoop {
  std::int64_t item, items, stride;
  std::int64_t head, heads, head_stride;

  __device__ HeadLoop(std::int64_t items, std::int64_t heads, int lanes) : items(items), heads(heads) {
    const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
    const int shift = 31 - __clz(lanes);  // a power of two
    item = thread >> shift;
    stride = static_cast<std::int64_t>(gridDim.x) * kThreads >> shift;
    head = item - quotient(item, heads) * heads;
    head_stride = stride - quotient(stride, heads) * heads;
  }
  __device__ bool valid() const { return item < items; }
  __device__ void next() {
    item += stride;
    head += head_stride;
    if (head >= heads) head -= heads;
  }
};

constexpr int kDotRows = HeadDotConfig::kRows;

// y[i, h] = <x[i, h, :], a[h, :]>; with a2 also y2 in the same pass. k is a multiple of kVec. Grid and block
// of HeadDotConfig: (row blocks, head tiles), (lanes of the tile's heads, rows). A group of `lanes` threads,
// a power of two, shares a head and has kDotRows rows in flight.
template <class T, int kVec>
__global__ void __launch_bounds__(kThreads)
    head_dot_kernel(const T* x, const Accumulator<T>* a, T* y, const Accumulator<T>* a2, T* y2,
                    std::int64_t n, std::int64_t heads, std::int64_t k, int lanes) {
  using Row = Pack<T, kVec>;
  using Vector = Pack<Accumulator<T>, kVec>;
  const int lane = static_cast<int>(threadIdx.x) & (lanes - 1), shift = 31 - __clz(lanes);
  const std::int64_t head_step = static_cast<std::int64_t>(gridDim.y) * blockDim.x >> shift,
                     row_step = static_cast<std::int64_t>(gridDim.x) * blockDim.y * kDotRows;
  std::int64_t head = (static_cast<std::int64_t>(blockIdx.y) * blockDim.x + threadIdx.x) >> shift;
  for (std::int64_t tile = static_cast<std::int64_t>(blockIdx.y) * blockDim.x >> shift; tile < heads;
       tile += head_step, head += head_step)
    for (std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * blockDim.y * kDotRows; first < n;
         first += row_step) {
      Accumulator<T> sum[kDotRows] = {}, sum2[kDotRows] = {};
      const std::int64_t row = first + threadIdx.y, item = row * heads + head, step = blockDim.y * heads;
      const auto valid = [&](int r) { return head < heads && row + r * blockDim.y < n; };
      for (std::int64_t j = lane * kVec; head < heads && j < k; j += lanes * kVec) {
        Row part[kDotRows];
        const T* from = x + item * k + j;
#pragma unroll
        for (int r = 0; r < kDotRows; ++r, from += step * k)
          part[r] = valid(r) ? *reinterpret_cast<const Row*>(from) : Row{};
        const Vector vector = *reinterpret_cast<const Vector*>(a + head * k + j);
        Vector vector2{};
        if (a2) vector2 = *reinterpret_cast<const Vector*>(a2 + head * k + j);
#pragma unroll
        for (int r = 0; r < kDotRows; ++r)
#pragma unroll
          for (int v = 0; v < kVec; ++v) {
            sum[r] += widen(part[r].value[v]) * vector.value[v];
            sum2[r] += widen(part[r].value[v]) * vector2.value[v];
          }
      }
      for (int offset = lanes / 2; offset > 0; offset /= 2)
#pragma unroll
        for (int r = 0; r < kDotRows; ++r) {
          sum[r] += __shfl_xor_sync(kFullMask, sum[r], offset);
          sum2[r] += __shfl_xor_sync(kFullMask, sum2[r], offset);
        }
      if (lane > 0) continue;
#pragma unroll
      for (int r = 0; r < kDotRows; ++r) {
        if (!valid(r)) break;
        y[item + r * step] = static_cast<T>(sum[r]);
        if (a2) y2[item + r * step] = static_cast<T>(sum2[r]);
      }
    }
}

// dx[i, h, :] = dy[i, h] a[h, :], or with dy2 dx += dy a + dy2 a2. Grid-stride over (row, head), block
// kThreads; a group of `lanes` threads has a pair.
template <class T, int kVec>
__global__ void head_outer_kernel(const T* dy, const Accumulator<T>* a, const T* dy2,
                                  const Accumulator<T>* a2, T* dx, std::int64_t items, std::int64_t heads,
                                  std::int64_t k, int lanes) {
  using Row = Pack<T, kVec>;
  using Vector = Pack<Accumulator<T>, kVec>;
  const int lane = static_cast<int>(threadIdx.x) & (lanes - 1);
  for (HeadLoop pair(items, heads, lanes); pair.valid(); pair.next()) {
    const auto scale = widen(dy[pair.item]);
    const auto scale2 = dy2 ? widen(dy2[pair.item]) : Accumulator<T>(0);
    for (std::int64_t j = lane * kVec; j < k; j += lanes * kVec) {
      const Vector vector = *reinterpret_cast<const Vector*>(a + pair.head * k + j);
      Row out;
#pragma unroll
      for (int v = 0; v < kVec; ++v) out.value[v] = static_cast<T>(scale * vector.value[v]);
      Row* const to = reinterpret_cast<Row*>(dx + pair.item * k + j);
      if (dy2) {
        const Vector vector2 = *reinterpret_cast<const Vector*>(a2 + pair.head * k + j);
        const Row before = *to;
#pragma unroll
        for (int v = 0; v < kVec; ++v)
          out.value[v] =
              static_cast<T>(widen(before.value[v]) + scale * vector.value[v] + scale2 * vector2.value[v]);
      }
      *to = out;
    }
  }
}

constexpr int kRowsInFlight = 4;  // of a thread

// da[h, :] = the sum over rows i of dy[i, h] x[i, h, :]; with dy2 also da2. k is a multiple of kVec. Grid and
// block of ColumnSumsConfig.
template <class T, int kVec>
__global__ void __launch_bounds__(kColumnSumThreads, 2)
    head_dot_sum_kernel(const T* dy, const T* dy2, const T* x, std::int64_t n, std::int64_t heads,
                        std::int64_t k, std::int64_t chunk, Accumulator<T>* partial, int* arrived,
                        Accumulator<T>* da, Accumulator<T>* da2) {
  using Row = Pack<T, kVec>;
  const std::int64_t width = heads * k, groups = width / kVec;
  const std::int64_t group = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const ColumnSumsChunk rows(chunk, n);
  Accumulator<T> sum[2 * kVec] = {};
  if (group < groups) {
    const std::int64_t head = quotient(group * kVec, k);
    for (std::int64_t first = rows.begin + threadIdx.y; first < rows.end;
         first += kRowsInFlight * blockDim.y) {
      Row row[kRowsInFlight];
      Accumulator<T> factor[kRowsInFlight], factor2[kRowsInFlight];
#pragma unroll
      for (int r = 0; r < kRowsInFlight; ++r) {
        const std::int64_t i = first + r * blockDim.y;
        const bool valid = i < rows.end;
        row[r] = valid ? *reinterpret_cast<const Row*>(x + i * width + group * kVec) : Row{};
        factor[r] = valid ? widen(dy[i * heads + head]) : Accumulator<T>(0);
        factor2[r] = valid && dy2 ? widen(dy2[i * heads + head]) : Accumulator<T>(0);
      }
#pragma unroll
      for (int r = 0; r < kRowsInFlight; ++r)
#pragma unroll
        for (int v = 0; v < kVec; ++v) {
          sum[v] += factor[r] * widen(row[r].value[v]);
          sum[kVec + v] += factor2[r] * widen(row[r].value[v]);
        }
    }
  }
  if (!finish_column_sums(sum, group, groups, partial, arrived)) return;
#pragma unroll
  for (int v = 0; v < kVec; ++v) {
    da[group * kVec + v] = sum[v];
    if (dy2) da2[group * kVec + v] = sum[kVec + v];
  }
}

// y[i, :] = the mean over h of x[i, h, :]. One thread per element of y, grid-stride.
template <class T>
__global__ void head_mean_kernel(const T* x, T* y, std::int64_t size, std::int64_t heads, std::int64_t k) {
  RODEO_GRID_STRIDE(i, size) {
    const std::int64_t row = quotient(i, k);
    const T* at = x + row * heads * k + (i - row * k);
    Accumulator<T> sum = 0;
    for (std::int64_t h = 0; h < heads; ++h) sum += widen(at[h * k]);
    y[i] = static_cast<T>(sum / static_cast<Accumulator<T>>(heads));
  }
}

// dx[i, h, :] = dy[i, :] / heads. One thread per element of dy, grid-stride.
template <class T>
__global__ void head_mean_backward_kernel(const T* dy, T* dx, std::int64_t size, std::int64_t heads,
                                          std::int64_t k) {
  RODEO_GRID_STRIDE(i, size) {
    const std::int64_t row = quotient(i, k);
    T* at = dx + row * heads * k + (i - row * k);
    const T share = static_cast<T>(widen(dy[i]) / static_cast<Accumulator<T>>(heads));
    for (std::int64_t h = 0; h < heads; ++h) at[h * k] = share;
  }
}

// Calls f.operator()<kVec>(), kVec elements being 16 bytes of x where every head begins at a multiple of
// them, else 1. a and a2 hold kVec elements of the sums' type at aligned addresses, too.
template <class T, class F>
void with_vectors(const Tensor& x, F&& f, const Tensor& a = {}, const Tensor& a2 = {}) {
  if constexpr (sizeof(T) < 8) {
    constexpr int kVec = 16 / sizeof(T);
    constexpr std::size_t kVectorBytes = kVec * sizeof(Accumulator<T>);
    if (x.dim(2) % kVec == 0 && is_aligned(x) && is_aligned(a, kVectorBytes) && is_aligned(a2, kVectorBytes))
      return f.template operator()<kVec>();
  }
  f.template operator()<1>();
}

}  // namespace

void head_dot(const Tensor& x, const Tensor& a, const Tensor& y, const Tensor& a2, const Tensor& y2) {
  dispatch_float(x.dtype(), "head_dot", [&]<class T>(T) {
    with_vectors<T>(
        x,
        [&]<int kVec>() {
          const std::int64_t n = x.dim(0), heads = x.dim(1), k = x.dim(2);
          const HeadDotConfig config =
              choose_head_dot(n, heads, k, kVec, Context::of(y.device()).properties());
          const dim3 block(static_cast<unsigned>(config.block_width),
                           static_cast<unsigned>(config.block_rows));
          const dim3 grid(static_cast<unsigned>(config.row_blocks), static_cast<unsigned>(config.head_tiles));
          launch("head_dot", y.device(), head_dot_kernel<device_t<T>, kVec>, grid, block, 0,
                 device_data<T>(x), device_data<Accumulator<T>>(a), device_data<T>(y),
                 device_data<Accumulator<T>>(a2), device_data<T>(y2), n, heads, k, config.lanes);
        },
        a, a2);
  });
}

void head_outer(const Tensor& dy, const Tensor& a, const Tensor& dy2, const Tensor& a2, const Tensor& dx) {
  dispatch_float(dx.dtype(), "head_dot", [&]<class T>(T) {
    with_vectors<T>(
        dx,
        [&]<int kVec>() {
          const std::int64_t items = dy.numel(), k = dx.dim(2);
          const int lanes = lanes_per_head(k, kVec);
          launch("head_outer", dx.device(), head_outer_kernel<device_t<T>, kVec>,
                 grid_for(items * lanes, kThreads), kThreads, 0, device_data<T>(dy),
                 device_data<Accumulator<T>>(a), device_data<T>(dy2), device_data<Accumulator<T>>(a2),
                 device_data<T>(dx), items, dx.dim(1), k, lanes);
        },
        a, a2);
  });
}

void head_dot_sum(const Tensor& dy, const Tensor& x, const Tensor& da, const Tensor& dy2, const Tensor& da2) {
  const std::int64_t n = x.dim(0), heads = x.dim(1), k = x.dim(2);
  if (n == 0) {
    da.fill(0);
    if (da2.defined()) da2.fill(0);
    return;
  }
  dispatch_float(x.dtype(), "head_dot", [&]<class T>(T) {
    using D = device_t<T>;
    with_vectors<T>(x, [&]<int kVec>() {
      const std::int64_t groups = heads * k / kVec;
      const ColumnSumsConfig config = choose_column_sums(n, groups, column_tile_width(groups), kRowsInFlight);
      const Tensor partial =
          Tensor::empty({config.chunks, heads * k, 2}, dtype_of<Accumulator<D>>(), x.device());
      launch("head_dot_sum", x.device(), head_dot_sum_kernel<D, kVec>, grid_of(config), block_of(config), 0,
             device_data<T>(dy), device_data<T>(dy2), device_data<T>(x), n, heads, k, config.chunk,
             partial.data<Accumulator<D>>(), Context::of(x.device()).zeroed_counters(config.column_tiles),
             device_data<Accumulator<D>>(da), device_data<Accumulator<D>>(da2));
    });
  });
}

void head_mean(const Tensor& x, const Tensor& y) {
  dispatch_float(x.dtype(), "head_mean", [&]<class T>(T) {
    launch("head_mean", y.device(), head_mean_kernel<device_t<T>>, grid_for(y.numel(), kThreads), kThreads, 0,
           device_data<T>(x), device_data<T>(y), y.numel(), x.dim(1), x.dim(2));
  });
}

void head_mean_backward(const Tensor& dy, const Tensor& dx) {
  dispatch_float(dx.dtype(), "head_mean", [&]<class T>(T) {
    launch("head_mean_backward", dx.device(), head_mean_backward_kernel<device_t<T>>,
           grid_for(dy.numel(), kThreads), kThreads, 0, device_data<T>(dy), device_data<T>(dx), dy.numel(),
           dx.dim(1), dx.dim(2));
  });
}

}  // namespace rodeo::kernels::cuda
