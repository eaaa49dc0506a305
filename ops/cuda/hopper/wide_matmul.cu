// y = after dropout(relu(D(x) w + bias)) (wide_matmul.cuh).
#include <algorithm>

#include "ops/cuda/hopper/wide_matmul.cuh"

namespace rodeo::kernels::cuda {
namespace {

struct WideArgs {
  WideMatrix x;
  std::int64_t rows;
  const float* w;     // [k, n], or with kTransposed [n, k]
  int n;              // columns of w
  const float* bias;  // [n], or null
  float* y;
  int pitch;      // of y, at least n; columns from n on are set to 0
  bool in_quads;  // y's rows are whole aligned quads
  TallDropout dropout;
  bool relu;
  TallDropout then;  // of y; its scale is `after`
};

template <int kN>
struct WideShape {
  static constexpr int kWarps = kWideThreads / kWarp;
  static constexpr int kTile = 16 * kTallDepth;  // floats of x in a slot of a warp
  static constexpr int kHalfN = kN / 2, kPitch = kHalfN + 8;
  static constexpr int kOut = 16 * kPitch;  // floats of a warp: half its columns of y
  static constexpr int kFixed = (kWarps * (kWideSlots * kTile + kOut) + kN) * static_cast<int>(sizeof(float));
  static constexpr int kSlot = WideFactor<kN>::kSize * static_cast<int>(sizeof(float));
  static constexpr int kResident = (227 * 1024 - kFixed) / kSlot;  // chunks of w that fit
};

/// Blocks take tiles of kWideRows rows in turn; every warp copies its 16 rows of x for itself, kWideSlots - 1
/// chunks ahead. kResident: all of w is in shared memory, once; else a chunk and the next one.
template <int kN, bool kTransposed, bool kResident>
__global__ void __launch_bounds__(kWideThreads, 1) wide_matmul_kernel(const WideArgs args) {
  using Factor = WideFactor<kN>;
  using Shape = WideShape<kN>;
  extern __shared__ float4 shared[];
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, g = lane / 4, t = lane % 4;
  float* const bias = reinterpret_cast<float*>(shared);
  float* const out = bias + kN + warp * Shape::kOut;
  float* const xs = bias + kN + Shape::kWarps * Shape::kOut + warp * kWideSlots * Shape::kTile;
  float* const ws = bias + kN + Shape::kWarps * (Shape::kOut + kWideSlots * Shape::kTile);
  const int depth = args.x.columns, chunks = (depth + kTallDepth - 1) / kTallDepth;
  const int first_n = static_cast<int>(blockIdx.y) * kN;
  const std::int64_t tiles = ceil_div(args.rows, kWideRows);
  const bool drops = args.dropout.threshold > 0, then_drops = args.then.threshold > 0;
  const std::uint64_t stream = drops ? args.dropout.key.stream_now() : 0;
  const std::uint64_t then_stream = then_drops ? args.then.key.stream_now() : 0;

  // Threads have x by quads, and terms of a sum come in any order: lane t of four has terms 4t .. 4t + 3 of
  // 16, and gives them to two products, each as its terms t and t + 4.
  float4 w_next[Factor::kItems];
  const auto load_w = [&](int chunk) {
#pragma unroll
    for (int item = 0; item < Factor::kItems; ++item) {
      const int n = first_n + item * kWarp + lane;
      float v[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int k = chunk * kTallDepth + warp / 4 * 16 + warp % 4 + i * 4;
        v[i] = n < args.n && k < depth ? args.w[kTransposed ? n * depth + k : k * args.n + n] : 0;
      }
      w_next[item] = {v[0], v[1], v[2], v[3]};
    }
  };
  const auto put_w = [&](int slot) {
#pragma unroll
    for (int item = 0; item < Factor::kItems; ++item)
      if (const int n = item * kWarp + lane; kN % kWarp == 0 || n < kN)
        Factor::put(ws + slot * Factor::kSize, warp, n, w_next[item]);
  };

  // Quads of odd rows are swapped by halves, so that lanes that read two rows meet in no bank.
  const auto quad_of = [](int row, int quad) { return row * kTallDepth + (quad ^ row % 2 * 4) * 4; };
  const auto first_row = [&](std::int64_t tile) { return tile * kWideRows + warp * 16; };
  std::int64_t copied_tile = blockIdx.x;
  int copied_chunk = 0, copied_slot = 0;
  const auto copy_x = [&] {
    with_vec(args.x.vec, [&]<int kVec>() {
      constexpr int kParts = kTallDepth / kVec, kRows = kVec * kWarp / kTallDepth;  // of a lane, at a time
      const int row0 = lane / kParts, column = lane % kParts * kVec;
      const int k = copied_chunk * kTallDepth + column;
      const std::int64_t first = first_row(copied_tile) + row0;
      const auto rows = static_cast<int>(k < depth ? min(args.rows - first, std::int64_t{16}) : 0);
      const float* from = args.x.x + first * args.x.pitch + k;
      float* const to = xs + copied_slot * Shape::kTile + column % 4;
#pragma unroll
      for (int i = 0; i < 16 / kRows; ++i, from += kRows * args.x.pitch)
        copy_later<kVec>(to + quad_of(row0 + i * kRows, column / 4), from, i * kRows < rows);
    });
    end_copies();
    copied_slot = copied_slot + 1 == kWideSlots ? 0 : copied_slot + 1;
    if (++copied_chunk == chunks) copied_chunk = 0, copied_tile += gridDim.x;
  };

  // Takes the oldest slot, whose turn is that of (tile, chunk).
  int slot = 0;
  float next[4][4];  // by products and their registers
  const auto take_x = [&](std::int64_t tile, int chunk) {
    wait_for_groups<kWideSlots - 2>();
    __syncwarp();
    const float* const x = xs + slot * Shape::kTile;
    slot = slot + 1 == kWideSlots ? 0 : slot + 1;
    float4 v[4];
#pragma unroll
    for (int i = 0; i < 4; ++i)
      v[i] = *reinterpret_cast<const float4*>(x + quad_of(i / 2 * 8 + g, i % 2 * 4 + t));
    if (drops) {
      std::int64_t index[4];
      std::uint32_t kept[4];
#pragma unroll
      for (int i = 0; i < 4; ++i)
        index[i] = (first_row(tile) + i / 2 * 8 + g) * depth + chunk * kTallDepth + i % 2 * 16 + t * 4;
      draw_quads(args.dropout, stream, depth % 4 == 0, index, kept);
#pragma unroll
      for (int i = 0; i < 4; ++i) keep(v[i], kept[i]);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        std::uint32_t word = kept[half * 2] << t * 4 | kept[half * 2 + 1] << (16 + t * 4);
        word |= __shfl_xor_sync(kFullMask, word, 1);
        word |= __shfl_xor_sync(kFullMask, word, 2);
        const std::int64_t row = first_row(tile) + half * 8 + g;
        if (args.dropout.kept && t == 0 && blockIdx.y == 0 && row < args.rows)
          args.dropout.kept[row * tall_words(depth) + chunk] = word;
      }
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int half = i / 2, step = i % 2 * 2;
      next[step][half] = v[i].x;
      next[step][half + 2] = v[i].y;
      next[step + 1][half] = v[i].z;
      next[step + 1][half + 2] = v[i].w;
    }
#pragma unroll
    for (int i = 0; i < 16; ++i) hold(next[i / 4][i % 4]);  // drawn while products are under way
  };

  for (int i = 0; i + 1 < kWideSlots; ++i) copy_x();
  if (threadIdx.x < kN) {
    const int n = first_n + static_cast<int>(threadIdx.x);
    bias[threadIdx.x] = args.bias && n < args.n ? args.bias[n] : 0;
  }
  for (int chunk = 0; chunk < (kResident ? chunks : 1); ++chunk) {
    load_w(chunk);
    put_w(chunk);
  }
  publish_to_wgmma();
  __syncthreads();
  int turn = 0;
  WideLeft left;
  take_x(blockIdx.x, 0);
  copy_x();
  left.set(next);
  for (std::int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    float factor[2], after[2];  // of rows g and g + 8
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const std::int64_t row = first_row(tile) + half * 8 + g;
      const auto of = [&](const TallDropout& d) {
        return d.scale && row < args.rows ? d.keep * d.scale[row] : d.keep;
      };
      factor[half] = of(args.dropout);
      after[half] = of(args.then);
    }
    float total[kN / 2] = {};
    for (int chunk = 0; chunk < chunks; ++chunk) {
      float part[kN / 2] = {};
      wide_product<kN>(part, left, ws + (kResident ? chunk : turn) * Factor::kSize);
      const bool ends = chunk + 1 == chunks;
      if constexpr (!kResident) load_w(ends ? 0 : chunk + 1);
      take_x(ends ? tile + gridDim.x : tile, ends ? 0 : chunk + 1);
      if constexpr (!kResident) {
        turn ^= 1;
        put_w(turn);
        publish_to_wgmma();
      }
      __syncwarp();
      copy_x();  // after what is published, which would wait for it
      wgmma_wait();
#pragma unroll
      for (int i = 0; i < kN / 2; ++i) total[i] += part[i];
      left.set(next);
      if constexpr (!kResident) __syncthreads();
    }

    // By way of shared memory a lane has a quad of a row: one store, and one draw.
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      __syncwarp();
#pragma unroll
      for (int i = 0; i < Shape::kHalfN / 8; ++i) {
        const float2 b = *reinterpret_cast<const float2*>(bias + side * Shape::kHalfN + i * 8 + t * 2);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const auto finish = [&](float value, float add) {
            value = value * factor[half] + add;
            return (args.relu && value <= 0 ? 0 : value) * after[half];  // NaN is not <= 0
          };
          const int at = (side * Shape::kHalfN / 8 + i) * 4 + half * 2;
          *reinterpret_cast<float2*>(out + (half * 8 + g) * Shape::kPitch + i * 8 + t * 2) = {
              finish(total[at], b.x), finish(total[at + 1], b.y)};
        }
      }
      __syncwarp();
      constexpr int kQuads = Shape::kHalfN / 4, kMine = 16 * kQuads / kWarp;  // of a row, of a lane
      const int column = first_n + side * Shape::kHalfN + lane % kQuads * 4;
      const auto row_of = [&](int i) { return i * kWarp / kQuads + lane / kQuads; };
      std::uint32_t kept[kMine];
      if (then_drops) {
        std::int64_t index[kMine];
#pragma unroll
        for (int i = 0; i < kMine; ++i) index[i] = (first_row(tile) + row_of(i)) * args.n + column;
        draw_quads(args.then, then_stream, true, index, kept);
      }
      const auto rows = column < args.pitch ? args.rows - first_row(tile) : 0;
      float* to = args.y + (first_row(tile) + row_of(0)) * args.pitch + column;
#pragma unroll
      for (int i = 0; i < kMine; ++i, to += kWarp / kQuads * args.pitch) {
        float4 v = *reinterpret_cast<const float4*>(out + row_of(i) * Shape::kPitch + lane % kQuads * 4);
        if (then_drops) keep(v, kept[i]);
        if (row_of(i) >= rows) continue;
        if (args.in_quads) {
          *reinterpret_cast<float4*>(to) = v;
        } else {
          to[0] = v.x;
          if (column + 1 < args.pitch) to[1] = v.y;
          if (column + 2 < args.pitch) to[2] = v.z;
          if (column + 3 < args.pitch) to[3] = v.w;
        }
      }
    }
  }
}

template <int kN, bool kTransposed>
void multiply(const WideArgs& args, Device device) {
  using Shape = WideShape<kN>;
  const int chunks = (args.x.columns + kTallDepth - 1) / kTallDepth;
  const bool resident = chunks <= Shape::kResident;
  const int bytes = Shape::kFixed + (resident ? chunks : 2) * Shape::kSlot;
  const auto kernel =
      resident ? wide_matmul_kernel<kN, kTransposed, true> : wide_matmul_kernel<kN, kTransposed, false>;
  allow_shared(kernel, bytes);
  const std::int64_t columns = ceil_div(args.pitch, kN);
  const std::int64_t blocks = std::clamp<std::int64_t>(Context::of(device).num_multiprocessors() / columns, 1,
                                                       ceil_div(args.rows, kWideRows));
  launch("wide_matmul", device, kernel, dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(columns)),
         kWideThreads, bytes, args);
}

}  // namespace

void wide_matmul(const DroppedMatrix& x, const Tensor& w, bool transposed, const Tensor& bias,
                 const EpilogueOptions& then, const Tensor& y) {
  const WideArgs args{.x = wide_matrix(x.x, w.dim(transposed ? 1 : 0)),
                      .rows = y.dim(0),
                      .w = tall_pointer(w),
                      .n = static_cast<int>(w.dim(transposed ? 0 : 1)),
                      .bias = tall_pointer(bias),
                      .y = tall_pointer(y),
                      .pitch = static_cast<int>(y.dim(1)),
                      .in_quads = in_quads(y, y.dim(1)),
                      .dropout = dropout_of(x),
                      .relu = then.activation == Activation::kRelu,
                      .then = dropout_of({.p = then.dropout, .key = then.key, .scale = then.after})};
  transposed ? multiply<128, true>(args, y.device()) : multiply<128, false>(args, y.device());
}

}  // namespace rodeo::kernels::cuda
