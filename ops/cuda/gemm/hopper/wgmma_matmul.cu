// y = after dropout(relu(D(x) w + bias)) (wgmma_matmul.cuh).
#include <algorithm>

#include "ops/cuda/gemm/hopper/wgmma_matmul.cuh"

namespace rodeo::kernels::cuda {
namespace {

struct WgmmaArgs {
  WgmmaOperand x;
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

/// One block a multiprocessor, of as many warpgroups as registers and shared memory allow.
template <int kN>
struct WgmmaShape {
  static constexpr int kWarpgroups = kN == 16 ? 4 : kN <= 64 ? 3 : 2;
  static constexpr int kThreads = kWarpgroups * kWarpgroup, kWarps = kThreads / kWarp;
  static constexpr int kTile = 16 * kTallDepth;  // floats of x in a slot of a warp
  static constexpr int kSides = kN > 64 ? 2 : 1, kOutN = kN / kSides, kPitch = kOutN + 8;
  static constexpr int kOut = 16 * kPitch;  // floats of a warp: a side of its columns of y
  static constexpr int kFixed =
      (kWarps * (kWgmmaSlots * kTile + kOut) + kN) * static_cast<int>(sizeof(float));
  static constexpr int kSlot = WgmmaFactor<kN, kThreads>::kSize * static_cast<int>(sizeof(float));
  static constexpr int kResident = (227 * 1024 - kFixed) / kSlot;  // chunks of w that fit
};

/// Warpgroups take tiles of 64 rows in turn; every warp copies its 16 rows of x for itself, kWgmmaSlots - 1
/// chunks ahead. kResident: all of w is in shared memory, once; else a chunk and the next one.
template <int kN, bool kTransposed, bool kResident>
__global__ void __launch_bounds__(WgmmaShape<kN>::kThreads, 1) wgmma_matmul_kernel(const WgmmaArgs args) {
  using Shape = WgmmaShape<kN>;
  using Factor = WgmmaFactor<kN, Shape::kThreads>;
  const Factor factor;
  extern __shared__ float4 shared[];
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, g = lane / 4, t = lane % 4;
  float* const bias = reinterpret_cast<float*>(shared);
  float* const out = bias + kN + warp * Shape::kOut;
  float* const xs = bias + kN + Shape::kWarps * Shape::kOut + warp * kWgmmaSlots * Shape::kTile;
  float* const ws = bias + kN + Shape::kWarps * (Shape::kOut + kWgmmaSlots * Shape::kTile);
  const int depth = args.x.columns, chunks = (depth + kTallDepth - 1) / kTallDepth;
  const int first_n = static_cast<int>(blockIdx.y) * kN;
  // The first of all blocks' warpgroups come first, then the second ones: few are left over at the end.
  const std::int64_t tiles = ceil_div(args.rows, 64), stride = std::int64_t{gridDim.x} * Shape::kWarpgroups;
  const std::int64_t before = warp / 4 * std::int64_t{gridDim.x}, first_tile = before + blockIdx.x;
  const bool drops = args.dropout.threshold > 0, then_drops = args.then.threshold > 0;
  const std::uint64_t stream = drops ? args.dropout.key.stream_now() : 0;
  const std::uint64_t then_stream = then_drops ? args.then.key.stream_now() : 0;

  // Threads have x by quads, and terms of a sum come in any order: lane t of four has terms 4t .. 4t + 3 of
  // 16, and gives them to two products, each as its terms t and t + 4.
  float w_next[Factor::kItems][4];
  const auto load_w = [&](int chunk) {
#pragma unroll
    for (int item = 0; item < Factor::kItems; ++item) {
      const int n = first_n + factor.column(item);
      const bool inside = factor.takes_part(item) && n < args.n;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int k = chunk * kTallDepth + factor.four / 4 * 16 + factor.four % 4 + i * 4;
        w_next[item][i] = inside && k < depth ? args.w[kTransposed ? n * depth + k : k * args.n + n] : 0;
      }
    }
  };
  const auto put_w = [&](int slot) {
#pragma unroll
    for (int item = 0; item < Factor::kItems; ++item)
      if (factor.takes_part(item)) factor.put(ws + slot * Factor::kSize, item, w_next[item]);
  };

  // Quads of odd rows are swapped by halves, so that lanes that read two rows meet in no bank.
  const auto quad_of = [](int row, int quad) { return row * kTallDepth + (quad ^ row % 2 * 4) * 4; };
  const auto first_row = [&](std::int64_t tile) { return tile * 64 + warp % 4 * 16; };
  std::int64_t copied_tile = first_tile;
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
        async_copy_or_zero<4 * kVec>(to + quad_of(row0 + i * kRows, column / 4), from, i * kRows < rows);
    });
    async_copy_commit();
    copied_slot = copied_slot + 1 == kWgmmaSlots ? 0 : copied_slot + 1;
    if (++copied_chunk == chunks) copied_chunk = 0, copied_tile += stride;
  };

  // Takes the oldest slot, whose turn is that of (tile, chunk).
  int slot = 0;
  float next[4][4];  // by products and their registers
  const auto take_x = [&](std::int64_t tile, int chunk) {
    async_copy_wait<kWgmmaSlots - 2>();
    __syncwarp();
    const float* const x = xs + slot * Shape::kTile;
    slot = slot + 1 == kWgmmaSlots ? 0 : slot + 1;
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

  for (int i = 0; i + 1 < kWgmmaSlots; ++i) copy_x();
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
  WgmmaLeft left;
  take_x(first_tile, 0);
  copy_x();
  left.set(next);
  // Those that share chunks of w go on together.
  for (std::int64_t tile = first_tile; tile - (kResident ? 0 : before) < tiles; tile += stride) {
    float scale[2], after[2];  // of rows g and g + 8
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const std::int64_t row = first_row(tile) + half * 8 + g;
      const auto of = [&](const TallDropout& d) {
        return d.scale && row < args.rows ? d.keep * d.scale[row] : d.keep;
      };
      scale[half] = of(args.dropout);
      after[half] = of(args.then);
    }
    float total[kN / 2] = {};
    for (int chunk = 0; chunk < chunks; ++chunk) {
      float part[kN / 2] = {};
      wgmma_product<kN>(part, left, ws + (kResident ? chunk : turn) * Factor::kSize);
      const bool ends = chunk + 1 == chunks;
      if constexpr (!kResident) load_w(ends ? 0 : chunk + 1);
      take_x(ends ? tile + stride : tile, ends ? 0 : chunk + 1);
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
    for (int side = 0; side < Shape::kSides; ++side) {
      __syncwarp();
#pragma unroll
      for (int i = 0; i < Shape::kOutN / 8; ++i) {
        const float2 b = *reinterpret_cast<const float2*>(bias + side * Shape::kOutN + i * 8 + t * 2);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const auto finish = [&](float value, float add) {
            value = value * scale[half] + add;
            return (args.relu && value <= 0 ? 0 : value) * after[half];  // NaN is not <= 0
          };
          const int at = (side * Shape::kOutN / 8 + i) * 4 + half * 2;
          *reinterpret_cast<float2*>(out + (half * 8 + g) * Shape::kPitch + i * 8 + t * 2) = {
              finish(total[at], b.x), finish(total[at + 1], b.y)};
        }
      }
      __syncwarp();
      constexpr int kQuads = Shape::kOutN / 4, kMine = 16 * kQuads / kWarp;  // of a row, of a lane
      const auto row_at = [&](int i) { return (i * kWarp + lane) / kQuads; };
      const auto column_at = [&](int i) { return (i * kWarp + lane) % kQuads * 4; };
      const int first_column = first_n + side * Shape::kOutN;
      std::uint32_t kept[kMine];
      if (then_drops) {
        std::int64_t index[kMine];
#pragma unroll
        for (int i = 0; i < kMine; ++i)
          index[i] = (first_row(tile) + row_at(i)) * args.n + first_column + column_at(i);
        draw_quads(args.then, then_stream, true, index, kept);
      }
#pragma unroll
      for (int i = 0; i < kMine; ++i) {
        const std::int64_t row = first_row(tile) + row_at(i);
        const int column = first_column + column_at(i);
        float4 v = *reinterpret_cast<const float4*>(out + row_at(i) * Shape::kPitch + column_at(i));
        if (then_drops) keep(v, kept[i]);
        if (row >= args.rows || column >= args.pitch) continue;
        float* const to = args.y + row * args.pitch + column;
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
void multiply_by(const WgmmaArgs& args, Device device) {
  using Shape = WgmmaShape<kN>;
  const int chunks = (args.x.columns + kTallDepth - 1) / kTallDepth;
  const bool resident = chunks <= Shape::kResident;
  const int bytes = Shape::kFixed + (resident ? chunks : 2) * Shape::kSlot;
  const auto kernel =
      resident ? wgmma_matmul_kernel<kN, kTransposed, true> : wgmma_matmul_kernel<kN, kTransposed, false>;
  allow_shared(kernel, bytes);
  const std::int64_t columns = ceil_div(args.pitch, kN);
  const std::int64_t blocks = std::clamp<std::int64_t>(Context::of(device).num_multiprocessors() / columns, 1,
                                                       ceil_div(args.rows, 64 * Shape::kWarpgroups));
  launch("wgmma_matmul", device, kernel, dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(columns)),
         Shape::kThreads, bytes, args);
}

template <int kN>
void multiply(const WgmmaArgs& args, bool transposed, Device device) {
  transposed ? multiply_by<kN, true>(args, device) : multiply_by<kN, false>(args, device);
}

}  // namespace

void wgmma_matmul(const DropoutInput& x, const Tensor& w, bool transposed, const Tensor& bias,
                  const EpilogueOptions& then, const Tensor& y) {
  const WgmmaArgs args{.x = wgmma_operand(x.x, w.dim(transposed ? 1 : 0)),
                       .rows = y.dim(0),
                       .w = device_data<float>(w),
                       .n = static_cast<int>(w.dim(transposed ? 0 : 1)),
                       .bias = device_data<float>(bias),
                       .y = device_data<float>(y),
                       .pitch = static_cast<int>(y.dim(1)),
                       .in_quads = in_quads(y, y.dim(1)),
                       .dropout = dropout_of(x),
                       .relu = then.activation == Activation::kRelu,
                       .then = dropout_of({.p = then.dropout, .key = then.key, .scale = then.after})};
  if (args.pitch <= 16) return multiply<16>(args, transposed, y.device());
  if (args.pitch <= 48) return multiply<48>(args, transposed, y.device());
  if (args.pitch <= 64) return multiply<64>(args, transposed, y.device());
  multiply<128>(args, transposed, y.device());
}

}  // namespace rodeo::kernels::cuda
