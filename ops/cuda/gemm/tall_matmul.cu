// y = D(x) w + bias (tall_matmul.cuh).
#include "ops/cuda/gemm/tall_matmul.cuh"

namespace rodeo::kernels::cuda {
namespace {

struct TallArgs {
  TallMatrix x;
  const float* w;     // [k, n], or with kTransposed [n, k]
  int n;              // columns of w
  bool w_in_quads;    // rows of w consist of aligned quads
  const float* bias;  // [n], or null
  float* y;
  int pitch;  // of y, at least n; columns from n on become 0
  TallDropout dropout;
};

template <int kIndex>
struct TallShape {
  static constexpr GemmTile kTile = kTallTiles[kIndex];
  static constexpr int kThreads = kTile.threads();
  static constexpr int kRows = kTile.rows(), kColumns = kTile.columns();
  static constexpr int kMmas = kTile.mma_m * kTile.mma_n;  // of a warp
  static constexpr int kBlocks =                           // of a multiprocessor: as many as registers allow
      kThreads > 128                          ? 512 / kThreads
      : kTile.warps_k > 1 && kTile.mma_n <= 2 ? 8
      : kMmas <= 2                            ? 5
      : kMmas <= 6                            ? 4
                                              : 3;
  static constexpr int kXSize = kRows * kTallPitch;
  static constexpr int kWSize = std::max(kTallDepth * tall_pitch(kColumns), kColumns* kTallPitch);
  static constexpr int kBytes = 2 * (kXSize + kWSize) * static_cast<int>(sizeof(float));
};

// Grid (row tiles, column tiles), block Shape::kThreads.
template <int kIndex, bool kTransposed>
__global__ void __launch_bounds__(TallShape<kIndex>::kThreads, TallShape<kIndex>::kBlocks)
    tall_matmul_kernel(const TallArgs args) {
  using Shape = TallShape<kIndex>;
  constexpr GemmTile kTile = Shape::kTile;
  constexpr int kWarpsM = kTile.warps_m, kWarpsN = kTile.warps_n, kWarpsK = kTile.warps_k;
  constexpr int kM = kTile.mma_m, kN = kTile.mma_n;
  constexpr int kQuads = Shape::kRows * kTallDepth / 4 / Shape::kThreads;  // of a thread
  constexpr int kWPitch = kTransposed ? kTallPitch : tall_pitch(Shape::kColumns);
  extern __shared__ float4 shared[];
  float* const xs = reinterpret_cast<float*>(shared);
  float* const ws = xs + 2 * Shape::kXSize;
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, g = lane / 4, t = lane % 4;
  const int warp_row = warp % kWarpsM * kM * 16, warp_column = warp / kWarpsM % kWarpsN * kN * 8;
  const int warp_k = warp / (kWarpsM * kWarpsN);
  const int depth = args.x.columns, first_column = static_cast<int>(blockIdx.y) * Shape::kColumns;
  const std::int64_t first_row = static_cast<std::int64_t>(blockIdx.x) * Shape::kRows;
  const bool drops = args.dropout.threshold > 0;
  const std::uint64_t stream = drops ? args.dropout.key.stream_now() : 0;

  const auto stage = [&](int k0, float* to) {
    if constexpr (kTransposed)
      stage_tile<Shape::kThreads, Shape::kColumns, kTallDepth, kWPitch>(
          args.w + first_column * depth + k0, depth, args.n - first_column, depth - k0, args.w_in_quads, to);
    else
      stage_tile<Shape::kThreads, kTallDepth, Shape::kColumns, kWPitch>(
          args.w + k0 * args.n + first_column, args.n, depth - k0, args.n - first_column, args.w_in_quads,
          to);
  };
  // A thread loads one quad at a time; 8 threads cover the 32 columns of a row.
  const int x_row = static_cast<int>(threadIdx.x) / 8, x_column = static_cast<int>(threadIdx.x) % 8 * 4;
  float4 next[kQuads];
  const auto load = [&](int k0) {
#pragma unroll
    for (int i = 0; i < kQuads; ++i)
      next[i] = load_quad(args.x, first_row + x_row + i * (Shape::kThreads / 8), args.x.rows, k0 + x_column);
  };
  TallTiles<kM, kN> total;
  stage(0, ws);
  load(0);
  for (int k0 = 0, turn = 0; k0 < depth; k0 += kTallDepth, turn ^= 1) {
    float* const x = xs + turn * Shape::kXSize;
    std::uint32_t kept[kQuads];
    if (drops) {
      std::int64_t index[kQuads];
#pragma unroll
      for (int i = 0; i < kQuads; ++i)
        index[i] = (first_row + x_row + i * (Shape::kThreads / 8)) * depth + k0 + x_column;
      draw_quads(args.dropout, stream, depth % 4 == 0, index, kept);
    }
#pragma unroll
    for (int i = 0; i < kQuads; ++i) {
      const int row = x_row + i * (Shape::kThreads / 8);
      if (drops) {
        keep(next[i], kept[i]);
        // Eight lanes combine their bits into the word of a row.
        std::uint32_t word = kept[i] << x_column;
#pragma unroll
        for (int other = 1; other < 8; other *= 2) word |= __shfl_xor_sync(kFullMask, word, other);
        if (args.dropout.kept && x_column == 0 && blockIdx.y == 0 && first_row + row < args.x.rows)
          args.dropout.kept[(first_row + row) * tall_words(depth) + k0 / 32] = word;
      }
      *reinterpret_cast<float4*>(x + row * kTallPitch + x_column) = next[i];
    }
    async_copy_wait_all();
    __syncthreads();
    if (k0 + kTallDepth < depth) {
      load(k0 + kTallDepth);
      stage(k0 + kTallDepth, ws + (turn ^ 1) * Shape::kWSize);
    }
    const float* const a = x + (warp_row + g) * kTallPitch + t;
    const float* const b = ws + turn * Shape::kWSize +
                           (kTransposed ? (warp_column + g) * kWPitch + t : t * kWPitch + warp_column + g);
    TallTiles<kM, kN> part;
#pragma unroll
    for (int k8 = 0; k8 < kTallDepth; k8 += 8 * kWarpsK) {
      const int k = k8 + warp_k * 8;
      part.add([&](int m, int half, int i) { return a[(m * 16 + half * 8) * kTallPitch + k + i * 4]; },
               [&](int n, int i) {
                 return kTransposed ? b[n * 8 * kWPitch + k + i * 4] : b[(k + i * 4) * kWPitch + n * 8];
               });
    }
    total.add(part);
  }
  if constexpr (kWarpsK > 1) {
    constexpr int kTiles = kWarpsM * kWarpsN, kSums = kM * kN * 4;
    static_assert((kWarpsK - 1) * kTiles * kSums * kWarp * sizeof(float) <= Shape::kBytes);
    __syncthreads();
    const auto sums_of = [&](int k) {
      return xs + ((k - 1) * kTiles + warp % kTiles) * kSums * kWarp + lane;
    };
    const auto each_sum = [&](auto f) {
#pragma unroll
      for (int i = 0; i < kSums; ++i) f(i, total.sum[i / (kN * 4)][i / 4 % kN][i % 4]);
    };
    if (warp_k > 0) each_sum([&](int i, float sum) { sums_of(warp_k)[i * kWarp] = sum; });
    __syncthreads();
    if (warp_k > 0) return;
#pragma unroll
    for (int k = 1; k < kWarpsK; ++k) each_sum([&](int i, float& sum) { sum += sums_of(k)[i * kWarp]; });
  }
#pragma unroll
  for (int m = 0; m < kM; ++m)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const std::int64_t row = first_row + warp_row + m * 16 + half * 8 + g;
      if (row >= args.x.rows) continue;
      const float factor =
          args.dropout.scale ? args.dropout.keep * args.dropout.scale[row] : args.dropout.keep;
#pragma unroll
      for (int n = 0; n < kN; ++n) {
        const int column = first_column + warp_column + n * 8 + t * 2;
        float* const to = args.y + row * args.pitch + column;
        float2 value{total.sum[m][n][half * 2] * factor, total.sum[m][n][half * 2 + 1] * factor};
        if (args.bias) {
          if (column < args.n) value.x += args.bias[column];
          if (column + 1 < args.n) value.y += args.bias[column + 1];
        }
        if (args.pitch % 2 == 0) {
          if (column < args.pitch) *reinterpret_cast<float2*>(to) = value;
        } else {
          if (column < args.pitch) to[0] = value.x;
          if (column + 1 < args.pitch) to[1] = value.y;
        }
      }
    }
}

template <int kIndex>
void multiply(const TallArgs& args, bool transposed, Device device) {
  using Shape = TallShape<kIndex>;
  const auto kernel = transposed ? tall_matmul_kernel<kIndex, true> : tall_matmul_kernel<kIndex, false>;
  allow_shared(kernel, Shape::kBytes);
  const dim3 grid(static_cast<unsigned>(ceil_div(args.x.rows, Shape::kRows)),
                  static_cast<unsigned>(ceil_div(args.pitch, Shape::kColumns)));
  launch("tall_matmul", device, kernel, grid, Shape::kThreads, Shape::kBytes, args);
}

}  // namespace

void tall_matmul(const DropoutInput& x, const Tensor& w, bool transposed, const Tensor& bias,
                 const Tensor& y) {
  const TallArgs args{.x = matrix_of(x.x, w.dim(transposed ? 1 : 0)),
                      .w = device_data<float>(w),
                      .n = static_cast<int>(w.dim(transposed ? 0 : 1)),
                      .w_in_quads = in_quads(w, w.dim(1)),
                      .bias = device_data<float>(bias),
                      .y = device_data<float>(y),
                      .pitch = static_cast<int>(y.dim(1)),
                      .dropout = dropout_of(x, x.x.dim(1))};
  const Device device = y.device();
  const GemmTile tile =
      choose_tall_tile(args.x.rows, args.x.columns, args.pitch, Context::of(device).properties());
  with_tile<kTallTiles>(tile, [&]<int kIndex>() { multiply<kIndex>(args, transposed, device); });
}

}  // namespace rodeo::kernels::cuda
