// Fused scale, bias, activation and dropout in one pass, and its gradient (ops/epilogue.h).
#include "ops/cuda/device/column_sums.cuh"
#include "ops/cuda/device/tensor_data.cuh"
#include "ops/kernels/dense.h"
#include "ops/kernels/dropout.h"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = EpilogueConfig::kThreads;
constexpr int kQuad = EpilogueConfig::kQuad;
constexpr int kInFlight = 2;  // quads of a thread

/// e^x - 1 for x <= 0. In f32 by the hardware's e^x, and by the Taylor series near 0, where the difference
/// would cancel.
__device__ float elu_below_zero(float x) {
  const float slope =
      fmaf(x, fmaf(x, fmaf(x, fmaf(x, fmaf(x, 1.f / 720, 1.f / 120), 1.f / 24), 1.f / 6), 0.5f), 1.f);
  return x > -0.25f ? x * slope : __expf(x) - 1;
}
__device__ double elu_below_zero(double x) {
  return expm1(x);
}

template <class T>
struct EpilogueArgs {
  const Accumulator<T>*pre_scale, *bias, *post_scale;  // or null
  std::int64_t rows, n, pitch;
  Activation activation;
  bool has_dropout;
  std::uint32_t threshold;     // dropout_keeps()
  Accumulator<T> keep, share;  // 1 / (1 - dropout) and 1 - dropout
  RandomKey key;
  std::uint8_t* signs;  // of kernels::epilogue, or null

  /// Activation and dropout of a biased value. The caller applies `post_scale`.
  __device__ Accumulator<T> finish(Accumulator<T> value, std::uint32_t word) const {
    if (activation == Activation::kRelu && value <= 0) value = 0;  // NaN is not <= 0
    if (activation == Activation::kElu && value <= 0) value = elu_below_zero(value);
    return has_dropout ? (dropout_keeps(word, threshold) ? value * keep : 0) : value;
  }
};

/// A byte of `signs`.
template <class T>
__device__ std::uint8_t signs_of(const Pack<T, kQuad>& values) {
  unsigned byte = 0;
#pragma unroll
  for (int k = 0; k < kQuad; ++k) byte |= static_cast<unsigned>(widen(values.value[k]) > 0) << k;
  return static_cast<std::uint8_t>(byte);
}

// EpilogueConfig::Kernel::kRows: rows of x and y are whole aligned quads. Grid (column tiles, blocks of
// rows), block (quads, rows). A thread keeps one quad of columns and strides over the rows, kInFlight at a
// time.
template <class T>
__global__ void __launch_bounds__(kThreads, 6)
    epilogue_rows_kernel(const EpilogueArgs<T> args, const T* x, T* y) {
  using Sum = Accumulator<T>;
  using Quad = Pack<T, kQuad>;
  const std::int64_t column = (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * kQuad;
  if (column >= args.n) return;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.y) * blockDim.y;
  const std::uint64_t stream = args.has_dropout ? args.key.stream_now() : 0;
  const std::uint64_t before = first_quad(args.key, args.n);
  Sum bias[kQuad] = {};
#pragma unroll
  for (int k = 0; k < kQuad; ++k)
    if (args.bias) bias[k] = args.bias[column + k];
  for (std::int64_t first = static_cast<std::int64_t>(blockIdx.y) * blockDim.y + threadIdx.y;
       first < args.rows; first += kInFlight * stride) {
    Quad values[kInFlight];
    Sum pre_scale[kInFlight], post_scale[kInFlight];
#pragma unroll
    for (int r = 0; r < kInFlight; ++r) {
      const std::int64_t i = first + r * stride;
      const bool valid = i < args.rows;
      values[r] = valid ? *reinterpret_cast<const Quad*>(x + i * args.pitch + column) : Quad{};
      pre_scale[r] = valid && args.pre_scale ? args.pre_scale[i] : Sum(1);
      post_scale[r] = valid && args.post_scale ? args.post_scale[i] : Sum(1);
    }
#pragma unroll
    for (int r = 0; r < kInFlight; ++r) {
      const std::int64_t i = first + r * stride, at = i * args.n + column;
      if (i >= args.rows) break;
      Philox4 random{};
      if (args.has_dropout) random = philox(args.key.seed, stream, before + at / kQuad);
#pragma unroll
      for (int k = 0; k < kQuad; ++k)
        values[r].value[k] = static_cast<T>(
            args.finish(widen(values[r].value[k]) * pre_scale[r] + bias[k], random.word[k]) * post_scale[r]);
      *reinterpret_cast<Quad*>(y + at) = values[r];
      if (args.signs) args.signs[at / kQuad] = signs_of<T>(values[r]);
    }
  }
}

// kFlat: x has no padding, and quads of x and y are aligned. Else EpilogueConfig::Kernel::kPadded.
// Grid-stride over the quads of y, block kThreads; a thread has kInFlight quads in flight.
template <class T, bool kFlat>
__global__ void __launch_bounds__(kThreads, sizeof(T) == 8 ? 2 : 4)
    epilogue_kernel(const EpilogueArgs<T> args, const T* x, T* y) {
  using Sum = Accumulator<T>;
  using Quad = Pack<T, kQuad>;
  const std::int64_t size = args.rows * args.n, quads = ceil_div(size, kQuad);
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kThreads;
  const bool needs_position = args.pre_scale || args.post_scale || args.bias;
  const auto is_whole = [&](std::int64_t quad) { return kFlat && (quad + 1) * kQuad <= size; };
  const auto read = [&](std::int64_t quad) {
    Quad values{};
    if (is_whole(quad)) return reinterpret_cast<const Quad*>(x)[quad];
    if (quad >= quads) return values;
    std::int64_t i = quotient(quad * kQuad, args.n), j = quad * kQuad - i * args.n;
#pragma unroll
    for (int k = 0; k < kQuad; ++k) {
      if (quad * kQuad + k < size) values.value[k] = x[i * args.pitch + j];
      if (++j == args.n) j = 0, ++i;
    }
    return values;
  };
  const std::uint64_t stream = args.has_dropout ? args.key.stream_now() : 0;
  const std::uint64_t before = first_quad(args.key, args.n);
  const auto work = [&](std::int64_t quad, Quad values) {
    Philox4 random{};
    if (args.has_dropout) random = philox(args.key.seed, stream, before + quad);
    std::int64_t i = 0, j = 0;
    if (needs_position) i = quotient(quad * kQuad, args.n), j = quad * kQuad - i * args.n;
    Sum pre_scale = args.pre_scale ? args.pre_scale[i] : Sum(1),
        post_scale = args.post_scale ? args.post_scale[i] : Sum(1);
#pragma unroll
    for (int k = 0; k < kQuad; ++k) {
      const Sum value = widen(values.value[k]) * pre_scale;
      values.value[k] =
          static_cast<T>(args.finish(args.bias ? value + args.bias[j] : value, random.word[k]) * post_scale);
      if (needs_position && ++j == args.n) {
        j = 0;
        if (++i == args.rows) --i;  // stay inside pre_scale and post_scale
        if (args.pre_scale) pre_scale = args.pre_scale[i];
        if (args.post_scale) post_scale = args.post_scale[i];
      }
    }
    if (args.signs) args.signs[quad] = signs_of<T>(values);
    if (is_whole(quad)) {
      reinterpret_cast<Quad*>(y)[quad] = values;
    } else {
#pragma unroll
      for (int k = 0; k < kQuad; ++k)
        if (quad * kQuad + k < size) y[quad * kQuad + k] = values.value[k];
    }
  };
  for (std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; first < quads;
       first += kInFlight * stride) {
    Quad values[kInFlight];
#pragma unroll
    for (int q = 0; q < kInFlight; ++q) values[q] = read(first + q * stride);
#pragma unroll
    for (int q = 0; q < kInFlight; ++q)
      if (first + q * stride < quads) work(first + q * stride, values[q]);
  }
}

template <int kVec>
constexpr int kBackwardRows = kVec == 1 ? 4 : 2;  // in flight in a thread

// Grid and block of ColumnSumsConfig; a thread has kVec columns of dx. kVec is 4 where n and the pitch of dx
// are multiples of 4, so that a quad is one Philox call. ReLU recovers the mask from signs or y and draws
// nothing.
template <class T, int kVec>
__global__ void __launch_bounds__(kColumnSumThreads, 2)
    epilogue_backward_kernel(const EpilogueArgs<T> args, const T* y, const T* dy, T* dx, std::int64_t chunk,
                             Accumulator<T>* partial, int* arrived, Accumulator<T>* db) {
  using Sum = Accumulator<T>;
  using Row = Pack<T, kVec>;
  const bool relu = args.activation == Activation::kRelu;
  const bool draws = args.has_dropout && !relu;
  const std::uint64_t stream = draws ? args.key.stream_now() : 0;
  const std::uint64_t before = first_quad(args.key, args.n);
  const std::int64_t group = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t column = group * kVec;
  const ColumnSumsChunk rows(chunk, args.rows);
  const bool inside = column < args.n;
  constexpr int kRows = kBackwardRows<kVec>;
  Sum sum[kVec] = {};
  if (column < args.pitch) {
    for (std::int64_t first = rows.begin + threadIdx.y; first < rows.end; first += kRows * blockDim.y) {
      Row slope[kRows], value[kRows];
      unsigned positive[kRows];
      Sum post_scale[kRows], pre_scale[kRows];
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        const std::int64_t i = first + r * blockDim.y, at = i * args.n + column;
        const bool valid = i < rows.end;
        slope[r] = value[r] = Row{};
        if (valid && inside) slope[r] = *reinterpret_cast<const Row*>(dy + at);
        if (valid && inside && y) value[r] = *reinterpret_cast<const Row*>(y + at);
        positive[r] = valid && inside && args.signs ? args.signs[at >> 2] : 0;
        if constexpr (kVec == 1) positive[r] >>= at & 3;
        post_scale[r] = valid && args.post_scale ? args.keep * args.post_scale[i] : args.keep;
        pre_scale[r] = valid && args.pre_scale ? args.pre_scale[i] : Sum(1);
      }
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        const std::int64_t i = first + r * blockDim.y, at = i * args.n + column;
        if (i >= rows.end) break;
        Philox4 random{};
        if (draws) {
          random = philox(args.key.seed, stream, before + (at >> 2));
          if constexpr (kVec == 1) random.word[0] = random.word[at & 3];
        }
        Row out;
#pragma unroll
        for (int v = 0; v < kVec; ++v) {
          Sum g = widen(slope[r].value[v]) * post_scale[r];
          const Sum out_value = widen(value[r].value[v]);
          if (args.activation == Activation::kElu && !(out_value > 0)) g *= out_value * args.share + 1;
          const bool kept = args.signs ? positive[r] >> v & 1 : out_value > 0;
          if (relu ? !kept : draws && !dropout_keeps(random.word[v], args.threshold)) g = 0;
          sum[v] += g;
          out.value[v] = static_cast<T>(g * pre_scale[r]);
        }
        if (dx) *reinterpret_cast<Row*>(dx + i * args.pitch + column) = out;
      }
    }
  }
  if (!db || !finish_column_sums(sum, group, args.n / kVec, partial, arrived)) return;
#pragma unroll
  for (int v = 0; v < kVec; ++v) db[column + v] = sum[v];
}

template <class T>
EpilogueArgs<device_t<T>> make_args(const Tensor& bias, const EpilogueOptions& o, const Tensor& y,
                                    std::int64_t pitch, const Tensor& signs) {
  using Sum = Accumulator<device_t<T>>;
  return {.pre_scale = device_data<Sum>(o.pre_scale),
          .bias = device_data<Sum>(bias),
          .post_scale = device_data<Sum>(o.post_scale),
          .rows = y.dim(0),
          .n = y.dim(1),
          .pitch = pitch,
          .activation = o.activation,
          .has_dropout = o.dropout > 0,
          .threshold = dropout_threshold(o.dropout),
          .keep = static_cast<Sum>(1 / (1 - o.dropout)),
          .share = static_cast<Sum>(1 - o.dropout),
          .key = o.key,
          .signs = device_data<std::uint8_t>(signs)};
}

}  // namespace

void epilogue(const Tensor& x, const Tensor& bias, const EpilogueOptions& options, const Tensor& y,
              const Tensor& signs) {
  dispatch_float(x.dtype(), "epilogue", [&]<class T>(T) {
    using D = device_t<T>;
    constexpr bool kIsF64 = sizeof(T) == 8;
    constexpr std::size_t kQuadBytes = kQuad * sizeof(T);
    const std::int64_t pitch = x.dim(1);
    const EpilogueConfig config =
        choose_epilogue(y.dim(0), y.dim(1), pitch, is_aligned(x, kQuadBytes) && is_aligned(y, kQuadBytes),
                        kIsF64, Context::of(y.device()).properties());
    const dim3 block(static_cast<unsigned>(config.block_width), static_cast<unsigned>(config.block_rows));
    const bool by_rows = config.kernel == EpilogueConfig::Kernel::kRows;
    const dim3 grid =
        by_rows ? dim3(static_cast<unsigned>(config.column_tiles), static_cast<unsigned>(config.blocks))
                : dim3(static_cast<unsigned>(config.blocks));
    const auto run = [&](auto* kernel) {
      launch("epilogue", y.device(), kernel, grid, block, 0, make_args<T>(bias, options, y, pitch, signs),
             device_data<T>(x), device_data<T>(y));
    };
    if constexpr (!kIsF64) {
      if (by_rows) return run(epilogue_rows_kernel<D>);
      if (config.kernel == EpilogueConfig::Kernel::kFlat) return run(epilogue_kernel<D, true>);
    }
    run(epilogue_kernel<D, false>);
  });
}

void epilogue_backward(const Tensor& y, const Tensor& signs, const Tensor& dy, const EpilogueOptions& options,
                       const Tensor& dx, const Tensor& db) {
  dispatch_float(dy.dtype(), "epilogue", [&]<class T>(T) {
    using D = device_t<T>;
    const std::int64_t n = dy.dim(1), pitch = dx.defined() ? dx.dim(1) : n;
    constexpr std::size_t kQuadBytes = kQuad * sizeof(T);
    const auto run = [&]<int kVec>() {
      const std::int64_t groups = ceil_div(pitch, kVec);
      const ColumnSumsConfig config =
          choose_column_sums(dy.dim(0), groups, column_tile_width(groups), kBackwardRows<kVec>);
      Tensor partial;
      int* arrived = nullptr;
      if (db.defined()) {
        partial = Tensor::empty({config.chunks, n}, dtype_of<Accumulator<D>>(), dy.device());
        arrived = Context::of(dy.device()).zeroed_counters(config.column_tiles);
      }
      launch("epilogue_backward", dy.device(), epilogue_backward_kernel<D, kVec>, grid_of(config),
             block_of(config), 0, make_args<T>({}, options, dy, pitch, signs), device_data<T>(y),
             device_data<T>(dy), device_data<T>(dx), config.chunk,
             static_cast<Accumulator<D>*>(partial.raw()), arrived, device_data<Accumulator<D>>(db));
    };
    if constexpr (sizeof(T) < 8) {  // f64 is a reference and has one kernel
      if (n % kQuad == 0 && pitch % kQuad == 0 && is_aligned(dy, kQuadBytes) && is_aligned(y, kQuadBytes) &&
          is_aligned(dx, kQuadBytes))
        return run.template operator()<kQuad>();
    }
    run.template operator()<1>();
  });
}

}  // namespace rodeo::kernels::cuda
