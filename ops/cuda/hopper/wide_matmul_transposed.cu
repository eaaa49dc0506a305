// dw = D(x)^T (s g), and the sums of g's columns, g being dy before what followed the product
// (wide_matmul.cuh).
#include "ops/cuda/hopper/wide_matmul.cuh"

namespace rodeo::kernels::cuda {
namespace {

struct WideGradientArgs {
  WideMatrix x, dy, y;  // y is read with kMasked: where it is not positive g is 0
  std::int64_t rows;
  int n;  // columns of dw
  bool with_sums;
  std::int64_t chunk;  // rows of a part, a multiple of kTallDepth
  float* partial;      // [parts, columns (+ 1), n]
  TallDropout dropout;
  const float* after;  // [m], or null: 1; g = then_keep after dy
  float then_keep;
};

/// A slot: 32 rows of x, of dy and y, and what belongs to them.
template <int kN, bool kMasked>
struct WideGradientShape {
  static constexpr int kXPitch = kWideRows + 8;  // four rows side by side meet in no bank
  static constexpr int kX = 0, kDy = kX + kTallDepth * kXPitch, kY = kDy + kTallDepth * kN,
                       kKept = kY + (kMasked ? kTallDepth * kN : 0),
                       kScale = kKept + kTallDepth * kWideRows / 32, kAfter = kScale + kTallDepth,
                       kSlot = kAfter + kTallDepth;  // floats
  static constexpr int kBytes =
      (kWideSlots * kSlot + 2 * WideFactor<kN>::kSize) * static_cast<int>(sizeof(float));
};

/// Rows row0 .. row0 + 31, columns from `first` on, to a tile [32, kColumns].
template <int kColumns, int kPitch>
__device__ __forceinline__ void copy_tile(float* to, const WideMatrix& m, std::int64_t row0, std::int64_t end,
                                          int first) {
  with_vec(m.vec, [&]<int kVec>() {
    constexpr int kParts = kColumns / kVec, kRows = kWideThreads / kParts;  // of a thread, at a time
    const int row = static_cast<int>(threadIdx.x) / kParts,
              column = static_cast<int>(threadIdx.x) % kParts * kVec;
    const int rows =
        first + column < m.columns ? static_cast<int>(end - row0 < kTallDepth ? end - row0 : kTallDepth) : 0;
    const float* from = m.x + (row0 + row) * m.pitch + first + column;
#pragma unroll
    for (int i = 0; i < kTallDepth / kRows; ++i, from += kRows * m.pitch)
      copy_later<kVec>(to + (row + i * kRows) * kPitch + column, from, row + i * kRows < rows);
  });
}

/// A block has kWideRows columns of x and kN of dy: 64 of x a warpgroup, lane (g, t) of a warp columns 2g and
/// 2g + 1 of 16, of rows t, t + 4, ... Of dy warp w splits rows 4w .. 4w + 3, one chunk ahead.
template <int kN, bool kMasked>
__global__ void __launch_bounds__(kWideThreads, 1) wide_gradient_kernel(const WideGradientArgs args) {
  using Factor = WideFactor<kN>;
  using Shape = WideGradientShape<kN, kMasked>;
  extern __shared__ float4 shared[];
  float* const slots = reinterpret_cast<float*>(shared);
  float* const factors = slots + kWideSlots * Shape::kSlot;
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, g = lane / 4, t = lane % 4;
  const int width = args.x.columns, first = static_cast<int>(blockIdx.x) * kWideRows;
  const int first_n = static_cast<int>(blockIdx.y) * kN;
  const std::int64_t begin = blockIdx.z * args.chunk,
                     end = begin + args.chunk < args.rows ? begin + args.chunk : args.rows;
  const bool drops = args.dropout.threshold > 0;

  const auto copy_dy = [&](float* slot, std::int64_t row0) {
    copy_tile<kN, kN>(slot + Shape::kDy, args.dy, row0, end, first_n);
    if (kMasked) copy_tile<kN, kN>(slot + Shape::kY, args.y, row0, end, first_n);
    if (threadIdx.x < kTallDepth) {
      const std::int64_t row = row0 + threadIdx.x;
      const bool inside = row < end;
      if (args.dropout.scale)
        copy_later<1>(slot + Shape::kScale + threadIdx.x, args.dropout.scale + (inside ? row : 0), inside);
      if (args.after)
        copy_later<1>(slot + Shape::kAfter + threadIdx.x, args.after + (inside ? row : 0), inside);
    }
  };
  const auto copy_x = [&](float* slot, std::int64_t row0) {
    copy_tile<kWideRows, Shape::kXPitch>(slot + Shape::kX, args.x, row0, end, first);
    constexpr int kWords = kWideRows / 32;
    if (const int i = static_cast<int>(threadIdx.x); drops && i < kTallDepth * kWords) {
      const std::int64_t row = row0 + i / kWords;
      const int word = first / 32 + i % kWords, words = tall_words(width);
      const bool inside = row < end && word < words;
      const auto* kept = reinterpret_cast<const float*>(args.dropout.kept);
      copy_later<1>(slot + Shape::kKept + i, kept + (inside ? row * words + word : 0), inside);
    }
  };
  float sums[Factor::kItems] = {};
  const auto put_dy = [&](float* to, const float* slot) {
    float scale[4], after[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      scale[i] = args.dropout.scale ? slot[Shape::kScale + warp * 4 + i] : 1;
      after[i] = args.then_keep * (args.after ? slot[Shape::kAfter + warp * 4 + i] : 1);
    }
#pragma unroll
    for (int item = 0; item < Factor::kItems; ++item) {
      const int n = item * kWarp + lane;
      if (kN % kWarp != 0 && n >= kN) continue;
      float v[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int at = (warp * 4 + i) * kN + n;
        v[i] = slot[Shape::kDy + at] * after[i];
        if (kMasked && !(slot[Shape::kY + at] > 0)) v[i] = 0;
        sums[item] += v[i];
        v[i] *= scale[i];
      }
      Factor::put(to, warp, n, {v[0], v[1], v[2], v[3]});
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
            __float_as_uint(slot[Shape::kKept + row * kWideRows / 32 + column / 32]) >> column % 32;
        if (!(bits & 1)) v.x = 0;
        if (!(bits & 2)) v.y = 0;
      }
      next[i / 2][i % 2 * 2] = v.x;
      next[i / 2][i % 2 * 2 + 1] = v.y;
    }
#pragma unroll
    for (int i = 0; i < 16; ++i) hold(next[i / 4][i % 4]);  // while products are under way
  };

  std::int64_t copied = begin;
  int free = 0, slot = 0;
  const auto copy = [&] {
    copy_x(slots + free * Shape::kSlot, copied);
    copy_dy(slots + free * Shape::kSlot, copied);
    end_copies();
    copied += kTallDepth;
    free = free + 1 == kWideSlots ? 0 : free + 1;
  };
  const auto take = [&](int turn) {
    const float* const from = slots + slot * Shape::kSlot;
    slot = slot + 1 == kWideSlots ? 0 : slot + 1;
    put_dy(factors + turn * Factor::kSize, from);
    take_x(from);
    publish_to_wgmma();
  };
  for (int i = 0; i + 1 < kWideSlots; ++i) copy();
  wait_for_groups<kWideSlots - 2>();
  __syncthreads();
  take(0);
  WideLeft left;
  left.set(next);
  copy();
  wait_for_groups<kWideSlots - 2>();
  __syncthreads();

  // At the top chunk i is split, slot i + 1 is there, and the one before it free.
  float total[kN / 2] = {};
  int turn = 0;
  for (std::int64_t row0 = begin; row0 < end; row0 += kTallDepth) {
    float part[kN / 2] = {};
    wide_product<kN>(part, left, factors + turn * Factor::kSize);
    turn ^= 1;
    take(turn);
    copy();  // after what is published, which would wait for it
    wgmma_wait();
#pragma unroll
    for (int i = 0; i < kN / 2; ++i) total[i] += part[i];
    left.set(next);
    wait_for_groups<kWideSlots - 2>();
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
  constexpr int kWarps = kWideThreads / kWarp;
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

}  // namespace

void wide_matmul_transposed(const DroppedMatrix& x, const Tensor& y, const Tensor& dy,
                            const EpilogueOptions& then, const Tensor& dw, const Tensor& db) {
  constexpr int kColumns = 128;
  const bool masked = then.activation == Activation::kRelu;
  const TallDropout after = dropout_of({.p = then.dropout, .scale = then.after});
  WideGradientArgs args{.x = wide_matrix(x.x, x.x.dim(1)),
                        .dy = wide_matrix(dy, dw.dim(1)),
                        .y = wide_matrix(masked ? y : dy, dw.dim(1)),
                        .rows = dy.dim(0),
                        .n = static_cast<int>(dw.dim(1)),
                        .with_sums = db.defined(),
                        .chunk = 0,
                        .partial = nullptr,
                        .dropout = dropout_of(x),
                        .after = after.scale,
                        .then_keep = after.keep};
  const Device device = dw.device();
  const std::int64_t x_blocks = ceil_div(args.x.columns, kWideRows), y_blocks = ceil_div(args.n, kColumns);
  const Tensor partial = tall_partial(args, dy.dim(0), x_blocks * y_blocks, 1, device);
  const auto run = [&](auto kernel, int bytes) {
    allow_shared(kernel, bytes);
    launch("wide_matmul_transposed", device, kernel,
           dim3(static_cast<unsigned>(x_blocks), static_cast<unsigned>(y_blocks),
                static_cast<unsigned>(partial.dim(0))),
           kWideThreads, bytes, args);
  };
  if (masked)
    run(wide_gradient_kernel<kColumns, true>, WideGradientShape<kColumns, true>::kBytes);
  else
    run(wide_gradient_kernel<kColumns, false>, WideGradientShape<kColumns, false>::kBytes);
  tall_sum(partial, dw, db);
}

}  // namespace rodeo::kernels::cuda
