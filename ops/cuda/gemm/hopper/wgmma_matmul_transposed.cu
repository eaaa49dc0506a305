// dw = D(x)^T g, and the column sums of g. g is dy times the derivative of the epilogue (wgmma_matmul.cuh).
#include "ops/cuda/gemm/hopper/wgmma_matmul.cuh"

namespace rodeo::kernels::cuda {
namespace {

struct WgmmaGradientArgs {
  WgmmaOperand x, dy, y;  // y: read with kMasked, g = 0 where y <= 0
  std::int64_t rows;
  int n;  // columns of dw
  bool with_sums;
  std::int64_t chunk;  // rows of a part, a multiple of kTallDepth
  float* partial;      // [parts, columns (+ 1), n]
  TallDropout dropout;
  const float* post_scale;  // [m], or null: 1; g = then_keep post_scale[i] dy
  float then_keep;
};

constexpr int kGradientThreads = 2 * kWarpgroup, kGradientRows = 2 * 64;

/// A pipeline stage in shared memory: 32 rows of x, dy and y, their dropout bits and row scales.
template <int kN, bool kMasked>
struct WgmmaGradientShape {
  static constexpr int kXPitch = kGradientRows + 8;  // four rows at once have no bank conflict
  static constexpr int kX = 0, kDy = kX + kTallDepth * kXPitch, kY = kDy + kTallDepth * kN,
                       kKept = kY + (kMasked ? kTallDepth * kN : 0),
                       kScale = kKept + kTallDepth * kGradientRows / 32, kPostScale = kScale + kTallDepth,
                       kSlot = kPostScale + kTallDepth;  // floats
  static constexpr int kBytes =
      (kWgmmaSlots * kSlot + 2 * WgmmaFactor<kN, kGradientThreads>::kSize) * static_cast<int>(sizeof(float));
  static constexpr int kBlocks =
      kN <= 64 && 2 * (kBytes + 1024) <= 228 * 1024 ? 2 : 1;  // of a multiprocessor
};

/// Starts the copy of rows row0 .. row0 + 31, columns from `first` on, to a tile [32, kColumns].
template <int kColumns, int kPitch, bool kMany>
__device__ __forceinline__ void copy_tile(float* to, const WgmmaOperand& m, std::int64_t row0,
                                          std::int64_t end, int first) {
  with_vec(m.vec, [&]<int kVec>() {
    constexpr int kParts = kColumns / kVec, kRows = kGradientThreads / kParts;  // of a thread, at a time
    const int row = static_cast<int>(threadIdx.x) / kParts,
              column = static_cast<int>(threadIdx.x) % kParts * kVec;
    const bool inside = row < kRows && first + column < m.columns;
    const auto rows = static_cast<int>(inside ? min(end - row0, std::int64_t{kTallDepth}) : 0);
    const float* from = m.x.at<kMany>(row0 + row, first + column);
#pragma unroll
    for (int i = 0; i < (kTallDepth + kRows - 1) / kRows; ++i, from += kRows * m.x.width)
      if (const int at = row + i * kRows; row < kRows && at < kTallDepth)
        async_copy_or_zero<4 * kVec>(to + at * kPitch + column, from, at < rows);
  });
}

/// Grid (column tiles of x, column tiles of dy, parts of the rows), block kGradientThreads. A block has
/// kGradientRows columns of x, 64 a warpgroup, and kN of dy. Lane (g, t) of a warp reads columns 2g and 2g +
/// 1 of 16 columns of x, in rows t, t + 4, ... Warp w splits rows 4w .. 4w + 3 of dy, one chunk ahead. kMany:
/// dy may have several parts.
template <int kN, bool kMasked, bool kMany>
__global__ void __launch_bounds__(kGradientThreads, WgmmaGradientShape<kN, kMasked>::kBlocks)
    wgmma_gradient_kernel(const WgmmaGradientArgs args) {
  using Factor = WgmmaFactor<kN, kGradientThreads>;
  using Shape = WgmmaGradientShape<kN, kMasked>;
  extern __shared__ float4 shared[];
  const Factor factor{};
  float* const slots = reinterpret_cast<float*>(shared);
  float* const factors = slots + kWgmmaSlots * Shape::kSlot;
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, g = lane / 4, t = lane % 4;
  const int width = args.x.columns, first = static_cast<int>(blockIdx.x) * kGradientRows;
  const int first_n = static_cast<int>(blockIdx.y) * kN;
  const std::int64_t begin = blockIdx.z * args.chunk,
                     end = begin + args.chunk < args.rows ? begin + args.chunk : args.rows;
  const bool drops = args.dropout.threshold > 0;

  const auto copy_dy = [&](float* slot, std::int64_t row0) {
    copy_tile<kN, kN, kMany>(slot + Shape::kDy, args.dy, row0, end, first_n);
    if (kMasked) copy_tile<kN, kN, false>(slot + Shape::kY, args.y, row0, end, first_n);
    if (threadIdx.x < kTallDepth) {
      const std::int64_t row = row0 + threadIdx.x;
      const bool inside = row < end;
      if (args.dropout.scale)
        async_copy_or_zero<4>(slot + Shape::kScale + threadIdx.x, args.dropout.scale + (inside ? row : 0),
                              inside);
      if (args.post_scale)
        async_copy_or_zero<4>(slot + Shape::kPostScale + threadIdx.x, args.post_scale + (inside ? row : 0),
                              inside);
    }
  };
  const auto copy_x = [&](float* slot, std::int64_t row0) {
    copy_tile<kGradientRows, Shape::kXPitch, false>(slot + Shape::kX, args.x, row0, end, first);
    constexpr int kWords = kGradientRows / 32;
    if (const int i = static_cast<int>(threadIdx.x); drops && i < kTallDepth * kWords) {
      const std::int64_t row = row0 + i / kWords;
      const int word = first / 32 + i % kWords, words = tall_words(width);
      const bool inside = row < end && word < words;
      const auto* kept = reinterpret_cast<const float*>(args.dropout.kept);
      async_copy_or_zero<4>(slot + Shape::kKept + i, kept + (inside ? row * words + word : 0), inside);
    }
  };
  float sums[Factor::kItems] = {};
  const auto put_dy = [&](float* to, const float* slot) {
    float scale[4], post_scale[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      scale[i] = args.dropout.scale ? slot[Shape::kScale + warp * 4 + i] : 1;
      post_scale[i] = args.then_keep * (args.post_scale ? slot[Shape::kPostScale + warp * 4 + i] : 1);
    }
#pragma unroll
    for (int item = 0; item < Factor::kItems; ++item) {
      if (!factor.takes_part(item)) continue;
      const int n = factor.column(item);
      float v[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int at = (warp * 4 + i) * kN + n;
        v[i] = slot[Shape::kDy + at] * post_scale[i];
        if (kMasked && !(slot[Shape::kY + at] > 0)) v[i] = 0;
        sums[item] += v[i];
        v[i] *= scale[i];
      }
      factor.put(to, item, v);
    }
  };

  float next[4][4];  // by products and their registers
  const auto take_x = [&](const float* slot) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int row = i * 4 + t, column = warp * 16 + 2 * g;
      float2 v = *reinterpret_cast<const float2*>(slot + Shape::kX + row * Shape::kXPitch + column);
      if (drops) {
        const std::uint32_t bits =
            __float_as_uint(slot[Shape::kKept + row * kGradientRows / 32 + column / 32]) >> column % 32;
        if (!(bits & 1)) v.x = 0;
        if (!(bits & 2)) v.y = 0;
      }
      next[i / 2][i % 2 * 2] = v.x;
      next[i / 2][i % 2 * 2 + 1] = v.y;
    }
#pragma unroll
    for (int i = 0; i < 16; ++i) hold(next[i / 4][i % 4]);  // while wgmma runs
  };

  std::int64_t copied = begin;
  int free = 0, slot = 0;
  const auto copy = [&] {
    copy_x(slots + free * Shape::kSlot, copied);
    copy_dy(slots + free * Shape::kSlot, copied);
    async_copy_commit();
    copied += kTallDepth;
    free = free + 1 == kWgmmaSlots ? 0 : free + 1;
  };
  const auto take = [&](int turn) {
    const float* const from = slots + slot * Shape::kSlot;
    slot = slot + 1 == kWgmmaSlots ? 0 : slot + 1;
    put_dy(factors + turn * Factor::kSize, from);
    take_x(from);
    publish_to_wgmma();
  };
  for (int i = 0; i + 1 < kWgmmaSlots; ++i) copy();
  async_copy_wait<kWgmmaSlots - 2>();
  __syncthreads();
  take(0);
  WgmmaLeft left;
  left.set(next);
  copy();
  async_copy_wait<kWgmmaSlots - 2>();
  __syncthreads();

  // At the top of round i, chunk i is split, slot i + 1 has arrived and slot i is free.
  float total[kN / 2] = {};
  int turn = 0;
  for (std::int64_t row0 = begin; row0 < end; row0 += kTallDepth) {
    float part[kN / 2] = {};
    wgmma_product<kN>(part, left, factors + turn * Factor::kSize);
    turn ^= 1;
    take(turn);
    copy();  // after publish_to_wgmma(), which would wait for the copy
    wgmma_wait();
#pragma unroll
    for (int i = 0; i < kN / 2; ++i) total[i] += part[i];
    left.set(next);
    async_copy_wait<kWgmmaSlots - 2>();
    __syncthreads();
  }

  const int height = width + args.with_sums;
  float* const out = args.partial + static_cast<std::int64_t>(blockIdx.z) * height * args.n;
#pragma unroll
  for (int n = 0; n < kN / 8; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int at = first + warp * 16 + 2 * g + i / 2, j = first_n + n * 8 + t * 2 + i % 2;
      if (at < width && j < args.n)
        out[static_cast<std::int64_t>(at) * args.n + j] = total[n * 4 + i] * args.dropout.keep;
    }
  if (!args.with_sums || blockIdx.x > 0) return;
  constexpr int kWarps = kGradientThreads / kWarp;
#pragma unroll
  for (int item = 0; item < Factor::kItems; ++item)
    factors[(item * kWarps + warp) * kWarp + lane] = sums[item];
  __syncthreads();
  for (int item = warp; item < Factor::kItems; item += kWarps) {
    float sum = 0;
    for (int other = 0; other < kWarps; ++other) sum += factors[(item * kWarps + other) * kWarp + lane];
    if (const int n = first_n + item * kWarp + lane; n < args.n)
      out[static_cast<std::int64_t>(width) * args.n + n] = sum;
  }
}

template <int kN, bool kMasked, bool kMany>
void multiply(WgmmaGradientArgs args, const MatrixParts& dw, const MatrixParts& db) {
  const Device device = dw.parts.front().device();
  using Shape = WgmmaGradientShape<kN, kMasked>;
  const std::int64_t x_blocks = ceil_div(args.x.columns, kGradientRows), y_blocks = ceil_div(args.n, kN);
  const Tensor partial = tall_partial(args, args.rows, x_blocks * y_blocks, Shape::kBlocks, device);
  const auto kernel = wgmma_gradient_kernel<kN, kMasked, kMany>;
  allow_shared(kernel, Shape::kBytes);
  const dim3 grid(static_cast<unsigned>(x_blocks), static_cast<unsigned>(y_blocks),
                  static_cast<unsigned>(partial.dim(0)));
  launch("wgmma_matmul_transposed", device, kernel, grid, kGradientThreads, Shape::kBytes, args);
  tall_sum(partial, dw, db);
}

}  // namespace

void wgmma_matmul_transposed(const DropoutInput& x, const Tensor& y, const MatrixParts& dy,
                             const EpilogueOptions& then, const MatrixParts& dw, const MatrixParts& db) {
  const bool masked = then.activation == Activation::kRelu;
  const TallDropout post_scale = dropout_of({.p = then.dropout, .scale = then.post_scale}, 0);
  // Rows of dy are read with their padding, which belongs to no column of dw.
  const WgmmaGradientArgs args{.x = wgmma_operand(x.x, x.x.dim(1)),
                               .dy = wgmma_operand(dy, dy.columns()),
                               .y = wgmma_operand(masked ? MatrixParts(y) : dy, dy.columns()),
                               .rows = dy.dim(0),
                               .n = static_cast<int>(dw.columns()),
                               .with_sums = db.defined(),
                               .chunk = 0,
                               .partial = nullptr,
                               .dropout = dropout_of(x, x.x.dim(1)),
                               .post_scale = post_scale.scale,
                               .then_keep = post_scale.keep};
  if (dy.parts.size() > 1) return multiply<128, false, true>(args, dw, db);
  if (masked) return multiply<128, true, false>(args, dw, db);
  const int width = choose_wgmma_transposed_width(args.n, masked);
  with_width<kWgmmaTransposedWidths>(width, [&]<int kN>() { multiply<kN, false, false>(args, dw, db); });
}

}  // namespace rodeo::kernels::cuda
