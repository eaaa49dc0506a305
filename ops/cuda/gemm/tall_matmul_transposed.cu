// dw = D(x)^T dy, and the column sums of dy (tall_matmul.cuh).
#include <algorithm>

#include "ops/cuda/gemm/tall_matmul.cuh"

namespace rodeo::kernels::cuda {
namespace {

/// out[i] = the sum over parts of partial[part, i], in a fixed order. Grid (size / kWarp), block
/// kTallSumWarps warps: a lane has one i, the warps share the parts. The rows of `first`, `columns` wide, are
/// followed by `second`.
constexpr int kTallSumWarps = 8;
__global__ void __launch_bounds__(kTallSumWarps* kWarp)
    tall_sum_kernel(const float* partial, std::int64_t parts, int size, int first_size, int columns,
                    const ColumnParts first, const ColumnParts second) {
  __shared__ float shared[kTallSumWarps][kWarp];
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const int i = static_cast<int>(blockIdx.x) * kWarp + lane;
  float sum = 0;
  if (i < size)
#pragma unroll 8
    for (std::int64_t part = warp; part < parts; part += kTallSumWarps) sum += partial[part * size + i];
  shared[warp][lane] = sum;
  __syncthreads();
  if (warp > 0 || i >= size) return;
#pragma unroll
  for (int other = 1; other < kTallSumWarps; ++other) sum += shared[other][lane];
  *(i < first_size ? first.at<true>(i / columns, i % columns) : second.at<true>(0, i - first_size)) = sum;
}

/// partial[s] = D(x)^T dy over part s of the rows. with_sums appends the column sums of dy as one more row: x
/// is extended by a column of ones, without scale and dropout.
struct TallTransposedArgs {
  TallMatrix x;
  const float* dy;
  int n, pitch;  // of dy
  bool dy_in_quads;
  bool with_sums;
  std::int64_t chunk;  // rows of a part, a multiple of kTallDepth
  float* partial;      // [parts, columns (+ 1), n]
  TallDropout dropout;
};

template <int kIndex>
struct TallTransposedShape {
  static constexpr GemmTile kTile = kTallTransposedTiles[kIndex];
  static constexpr int kBlocks = tall_transposed_blocks(kTile);  // of a multiprocessor
  static constexpr int kThreads = kTile.threads();
  static constexpr int kRows = kTile.rows(), kColumns = kTile.columns();
  static constexpr int kXPitch = tall_pitch(kRows), kYPitch = tall_pitch(kColumns);
  static constexpr int kXSize = kTallDepth * kXPitch, kYSize = kTallDepth * kYPitch;
  static constexpr int kBytes = 2 * (kXSize + kYSize) * static_cast<int>(sizeof(float));
};

// Grid (column tiles of x, column tiles of dy, parts of the rows), block Shape::kThreads.
template <int kIndex>
__global__ void __launch_bounds__(TallTransposedShape<kIndex>::kThreads, TallTransposedShape<kIndex>::kBlocks)
    tall_matmul_transposed_kernel(const TallTransposedArgs args) {
  using Shape = TallTransposedShape<kIndex>;
  constexpr GemmTile kTile = Shape::kTile;
  constexpr int kWarpsM = kTile.warps_m, kM = kTile.mma_m, kN = kTile.mma_n;
  constexpr int kRowQuads = Shape::kRows / 4, kQuads = kTallDepth * kRowQuads / Shape::kThreads;
  constexpr int kStride = Shape::kThreads / kRowQuads;  // rows between a thread's quads
  extern __shared__ float4 shared[];
  float* const xs = reinterpret_cast<float*>(shared);
  float* const ys = xs + 2 * Shape::kXSize;
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, g = lane / 4, t = lane % 4;
  const int warp_row = warp % kWarpsM * kM * 16, warp_column = warp / kWarpsM * kN * 8;
  const int width = args.x.columns;
  const int first = static_cast<int>(blockIdx.x) * Shape::kRows;
  const int first_n = static_cast<int>(blockIdx.y) * Shape::kColumns;
  const std::int64_t begin = blockIdx.z * args.chunk,
                     end = begin + args.chunk < args.x.rows ? begin + args.chunk : args.x.rows;
  const bool drops = args.dropout.threshold > 0;

  const auto stage = [&](std::int64_t row0, float* to) {
    const auto rows = static_cast<int>(end - row0 < kTallDepth ? end - row0 : kTallDepth);
    stage_tile<Shape::kThreads, kTallDepth, Shape::kColumns, Shape::kYPitch>(
        args.dy + row0 * args.pitch + first_n, args.pitch, rows, args.n - first_n, args.dy_in_quads, to);
  };
  const int x_row = static_cast<int>(threadIdx.x) / kRowQuads,
            x_column = static_cast<int>(threadIdx.x) % kRowQuads * 4;
  float4 next[kQuads];
  float factor[kQuads];
  std::uint32_t kept[kQuads] = {};
  const auto load = [&](std::int64_t row0) {
#pragma unroll
    for (int i = 0; i < kQuads; ++i) {
      const std::int64_t row = row0 + x_row + i * kStride;
      next[i] = load_quad(args.x, row, end, first + x_column);
      if (drops && row < end && first + x_column < width)
        kept[i] = args.dropout.kept[row * tall_words(width) + (first + x_column) / 32];
      factor[i] =
          args.dropout.scale && row < end ? args.dropout.keep * args.dropout.scale[row] : args.dropout.keep;
    }
  };
  TallTiles<kM, kN> total;
  if (begin < end) stage(begin, ys);
  load(begin);
  int turn = 0;
  for (std::int64_t row0 = begin; row0 < end; row0 += kTallDepth, turn ^= 1) {
    float* const x = xs + turn * Shape::kXSize;
#pragma unroll
    for (int i = 0; i < kQuads; ++i) {
      const int row = x_row + i * kStride;
      float4 v = next[i];
      if (drops) keep(v, kept[i] >> x_column % 32);
      v.x *= factor[i], v.y *= factor[i], v.z *= factor[i], v.w *= factor[i];
      if (const int one = width - first - x_column; args.with_sums && one >= 0 && one < 4) {
        const float value = row0 + row < end ? 1 : 0;
        (one == 0 ? v.x : one == 1 ? v.y : one == 2 ? v.z : v.w) = value;
      }
      *reinterpret_cast<float4*>(x + row * Shape::kXPitch + x_column) = v;
    }
    async_copy_wait_all();
    __syncthreads();
    if (row0 + kTallDepth < end) {
      load(row0 + kTallDepth);
      stage(row0 + kTallDepth, ys + (turn ^ 1) * Shape::kYSize);
    }
    const float* const a = x + t * Shape::kXPitch + warp_row + g;
    const float* const b = ys + turn * Shape::kYSize + t * Shape::kYPitch + warp_column + g;
    TallTiles<kM, kN> part;
#pragma unroll
    for (int k = 0; k < kTallDepth; k += 8)
      part.add([&](int m, int half, int i) { return a[(k + i * 4) * Shape::kXPitch + m * 16 + half * 8]; },
               [&](int n, int i) { return b[(k + i * 4) * Shape::kYPitch + n * 8]; });
    total.add(part);
  }
  const int height = width + args.with_sums;
  float* const out = args.partial + static_cast<std::int64_t>(blockIdx.z) * height * args.n;
#pragma unroll
  for (int m = 0; m < kM; ++m)
#pragma unroll
    for (int n = 0; n < kN; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int column = first + warp_row + m * 16 + i / 2 * 8 + g;
        const int j = first_n + warp_column + n * 8 + t * 2 + i % 2;
        if (column < height && j < args.n)
          out[static_cast<std::int64_t>(column) * args.n + j] = total.sum[m][n][i];
      }
}

template <int kIndex>
void multiply_transposed(TallTransposedArgs args, const Tensor& dw, const Tensor& db) {
  using Shape = TallTransposedShape<kIndex>;
  const Device device = dw.device();
  const std::int64_t x_tiles = ceil_div(args.x.columns + args.with_sums, Shape::kRows),
                     dy_tiles = ceil_div(args.n, Shape::kColumns);
  const Tensor partial = tall_partial(args, args.x.rows, x_tiles * dy_tiles, Shape::kBlocks, device);
  const auto kernel = tall_matmul_transposed_kernel<kIndex>;
  allow_shared(kernel, Shape::kBytes);
  const dim3 grid(static_cast<unsigned>(x_tiles), static_cast<unsigned>(dy_tiles),
                  static_cast<unsigned>(partial.dim(0)));
  launch("tall_matmul_transposed", device, kernel, grid, Shape::kThreads, Shape::kBytes, args);
  tall_sum(partial, dw, db);
}

}  // namespace

void tall_sum(const Tensor& partial, const MatrixParts& dw, const MatrixParts& db) {
  const std::int64_t size = partial.dim(1);
  launch("tall_sum", partial.device(), tall_sum_kernel, dim3(static_cast<unsigned>(ceil_div(size, kWarp))),
         kTallSumWarps * kWarp, 0, device_data<float>(partial), partial.dim(0), static_cast<int>(size),
         static_cast<int>(dw.dim(0) * dw.columns()), static_cast<int>(dw.columns()), ColumnParts(dw),
         ColumnParts(db));
}

void tall_matmul_transposed(const DropoutInput& x, const Tensor& dy, const Tensor& dw, const Tensor& db) {
  const TallTransposedArgs args{.x = matrix_of(x.x, x.x.dim(1)),
                                .dy = device_data<float>(dy),
                                .n = static_cast<int>(dw.dim(1)),
                                .pitch = static_cast<int>(dy.dim(1)),
                                .dy_in_quads = in_quads(dy, dw.dim(1)),
                                .with_sums = db.defined(),
                                .chunk = 0,
                                .partial = nullptr,
                                .dropout = dropout_of(x, x.x.dim(1))};
  const GemmTile tile = choose_tall_transposed_tile(args.x.columns + args.with_sums, args.n);
  with_tile<kTallTransposedTiles>(tile, [&]<int kIndex>() { multiply_transposed<kIndex>(args, dw, db); });
}

}  // namespace rodeo::kernels::cuda
