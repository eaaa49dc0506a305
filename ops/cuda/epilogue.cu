// What stands between two sums, in one pass (ops/epilogue.h).
#include <algorithm>
#include <bit>

#include "ops/cuda/pack.cuh"
#include "ops/kernels.h"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kQuad = 4;  // elements that share a Philox call

template <class T>
struct EpilogueArgs {
  const T *scale, *bias, *after;  // or null
  std::int64_t rows, n, pitch;
  Activation activation;
  float dropout;
  Accumulator<T> keep;
  RandomKey key;
};

// A thread for each quad of y, grid-stride. x_is_whole: x has no padding, and quads of both are aligned.
template <class T>
__global__ void epilogue_kernel(const EpilogueArgs<T> args, const T* x, T* y, bool x_is_whole) {
  using Quad = Pack<T, kQuad>;
  const std::uint64_t stream = args.dropout > 0 ? args.key.stream_now() : 0;
  const std::int64_t size = args.rows * args.n;
  RODEO_GRID_STRIDE(quad, (size + kQuad - 1) / kQuad) {
    const bool whole = x_is_whole && (quad + 1) * kQuad <= size;
    std::int64_t i = quad * kQuad / args.n, j = quad * kQuad - i * args.n;
    Quad values{};
    if (whole) values = reinterpret_cast<const Quad*>(x)[quad];
    Philox4 random{};
    if (args.dropout > 0) random = philox(args.key.seed, stream, quad);
#pragma unroll
    for (int k = 0; k < kQuad; ++k) {
      if (quad * kQuad + k >= size) break;
      Accumulator<T> value = widen(whole ? values.value[k] : x[i * args.pitch + j]);
      if (args.scale) value *= widen(args.scale[i]);
      if (args.bias) value += widen(args.bias[j]);
      if (args.activation == Activation::kRelu && value <= 0) value = 0;  // NaN is not <= 0
      if (args.activation == Activation::kElu && value <= 0) value = expm1(value);
      if (args.dropout > 0) value = to_unit(random.word[k]) < args.dropout ? 0 : value * args.keep;
      if (args.after) value *= widen(args.after[i]);
      values.value[k] = static_cast<T>(value);
      if (!whole) y[quad * kQuad + k] = values.value[k];
      if (++j == args.n) j = 0, ++i;
    }
    if (whole) reinterpret_cast<Quad*>(y)[quad] = values;
  }
}

// grid (tiles of blockDim.x columns of dx, chunks of rows), block (columns, rows). A block leaves its column
// sums in `partial` [chunks, n]; the last block of a column tile adds those up in order.
template <class T>
__global__ void epilogue_backward_kernel(const EpilogueArgs<T> args, const T* y, const T* dy, T* dx,
                                         std::int64_t chunk, Accumulator<T>* partial, int* arrived, T* db) {
  using Sum = Accumulator<T>;
  __shared__ Sum shared[kThreads];
  __shared__ bool last;
  const bool relu = args.activation == Activation::kRelu;
  const std::uint64_t stream = args.dropout > 0 && !relu ? args.key.stream_now() : 0;
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t begin = blockIdx.y * chunk, end = begin + chunk < args.rows ? begin + chunk : args.rows;
  const bool inside = column < args.n;
  Sum sum = 0;
  if (column < args.pitch) {
#pragma unroll 4
    for (std::int64_t i = begin + threadIdx.y; i < end; i += blockDim.y) {
      const std::int64_t at = i * args.n + column;
      Sum g = 0;
      if (inside) {
        g = widen(dy[at]) * args.keep;
        if (args.after) g *= widen(args.after[i]);
        if (args.activation == Activation::kElu) {
          const Sum value = widen(y[at]);
          if (!(value > 0)) g *= value / args.keep + 1;
        }
        if (relu) {
          if (!(widen(y[at]) > 0)) g = 0;
        } else if (args.dropout > 0 && to_unit(random_word(args.key.seed, stream, at)) < args.dropout) {
          g = 0;
        }
      }
      sum += g;
      if (args.scale) g *= widen(args.scale[i]);
      if (dx) dx[i * args.pitch + column] = static_cast<T>(inside ? g : Sum(0));
    }
  }
  if (!db) return;
  // The sum of a column over the rows of the block, for threads of row 0.
  const auto reduce = [&] {
    shared[threadIdx.y * blockDim.x + threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y == 0)
      for (unsigned r = 1; r < blockDim.y; ++r) sum += shared[r * blockDim.x + threadIdx.x];
  };
  reduce();
  if (threadIdx.y == 0 && inside) partial[blockIdx.y * args.n + column] = sum;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0 && threadIdx.y == 0)
    last = atomicAdd(arrived + blockIdx.x, 1) == static_cast<int>(gridDim.y) - 1;
  __syncthreads();
  if (!last) return;
  __threadfence();
  sum = 0;
  if (inside)
    for (std::int64_t c = threadIdx.y; c < gridDim.y; c += blockDim.y)
      sum += __ldcg(partial + c * args.n + column);
  reduce();
  if (threadIdx.y > 0) return;
  if (inside) db[column] = static_cast<T>(sum);
  if (threadIdx.x == 0) arrived[blockIdx.x] = 0;
}

template <class T>
auto* pointer(const Tensor& t) {
  return static_cast<device_t<T>*>(t.raw());  // null where t is undefined
}

template <class T>
EpilogueArgs<device_t<T>> make_args(const Tensor& bias, const EpilogueOptions& o, const Tensor& y,
                                    std::int64_t pitch) {
  return {.scale = pointer<T>(o.scale),
          .bias = pointer<T>(bias),
          .after = pointer<T>(o.after),
          .rows = y.dim(0),
          .n = y.dim(1),
          .pitch = pitch,
          .activation = o.activation,
          .dropout = static_cast<float>(o.dropout),
          .keep = static_cast<Accumulator<device_t<T>>>(1 / (1 - o.dropout)),
          .key = o.key};
}

bool is_aligned(const Tensor& t, std::size_t bytes) {
  return reinterpret_cast<std::uintptr_t>(t.raw()) % bytes == 0;
}

}  // namespace

void epilogue(const Tensor& x, const Tensor& bias, const EpilogueOptions& options, const Tensor& y) {
  dispatch_float(x.dtype(), "epilogue", [&]<class T>(T) {
    const std::size_t quad = kQuad * sizeof(T);
    launch("epilogue", y.device(), epilogue_kernel<device_t<T>>,
           grid_for(ceil_div(y.numel(), kQuad), kThreads), kThreads, 0,
           make_args<T>(bias, options, y, x.dim(1)), pointer<T>(x), pointer<T>(y),
           x.dim(1) == y.dim(1) && is_aligned(x, quad) && is_aligned(y, quad));
  });
}

void epilogue_backward(const Tensor& y, const Tensor& dy, const EpilogueOptions& options, const Tensor& dx,
                       const Tensor& db) {
  constexpr std::int64_t kMinChunk = 32, kMaxChunks = 1024;
  dispatch_float(dy.dtype(), "epilogue", [&]<class T>(T) {
    using Sum = Accumulator<device_t<T>>;
    const std::int64_t rows = dy.dim(0), pitch = (dx.defined() ? dx : dy).dim(1);
    const auto columns = static_cast<unsigned>(
        std::min<std::uint64_t>(kWarp, std::bit_ceil(static_cast<std::uint64_t>(pitch))));
    const dim3 block(columns, kThreads / columns);
    const std::int64_t chunk = std::max(kMinChunk, ceil_div(rows, kMaxChunks));
    const dim3 grid(static_cast<unsigned>(ceil_div(pitch, columns)),
                    static_cast<unsigned>(ceil_div(rows, chunk)));
    Tensor partial;
    int* arrived = nullptr;
    if (db.defined()) {
      partial = Tensor::empty({grid.y, dy.dim(1)}, dtype_of<Sum>(), dy.device());
      arrived = Context::of(dy.device()).zeroed_counters(grid.x);
    }
    launch("epilogue_backward", dy.device(), epilogue_backward_kernel<device_t<T>>, grid, block, 0,
           make_args<T>({}, options, dy, pitch), pointer<T>(y), pointer<T>(dy), pointer<T>(dx), chunk,
           static_cast<Sum*>(partial.raw()), arrived, pointer<T>(db));
  });
}

}  // namespace rodeo::kernels::cuda
