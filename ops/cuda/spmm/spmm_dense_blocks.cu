// Y = A X where groups of rows share most of their columns (ops/plan/dense_blocks.h).
//
// A block of four warps computes 128 rows and kWidth columns of Y. A step loads 32 rows of X into shared
// memory, while those of earlier steps are multiplied by mma.m16n8k16. The left operands come from memory in
// the order of its registers: from a bitmap without edge weights. The rest of the edges is added in shared
// memory.
#include "ops/cuda/device/async_copy.cuh"
#include "ops/cuda/device/mma.cuh"
#include "ops/cuda/device/pack.cuh"
#include "ops/cuda/device/padded_rows.cuh"
#include "ops/kernels/sparse.h"

namespace rodeo::kernels::cuda {
namespace {

using Blocks = DenseBlocks;
using Word = std::uint32_t;

constexpr int kThreads = Blocks::kWarps * kWarp, kStages = 4;

template <class T>
struct DenseBlockArgs {
  const std::int64_t* row_ptr;
  const std::int32_t* csr_col;
  const T* weight;  // null: unweighted
  const T* x;
  T* y;
  const std::int32_t *row, *step_begin, *col;
  const Word* bits;
  const uint4* values;  // weights in the places of the plan; null: unweighted
  const std::int64_t* rest_begin;
  const std::int32_t *rest_col, *rest_edge;
  const std::uint8_t* rest_row;
  std::int64_t n, pitch;  // columns of Y, and from one row of X to the next
  bool whole_vectors;     // Y can be written by vectors
};

/// Four 8 x 8 matrices of 16-bit elements, transposed. Each lane gives the address of a row of one of them.
__device__ __forceinline__ void load_transposed(Word (&out)[4], Word address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
               : "r"(address)
               : "memory");
}

/// What a lane holds of a step's left operand: four fragments of eight elements.
template <class T, bool kWeighted>
struct LeftStep {
  Word bits;
  __device__ void load(const DenseBlockArgs<T>& args, std::int64_t step, int warp, int lane) {
    bits = args.bits[(step * Blocks::kWarps + warp) * kWarp + lane];
  }
  __device__ void fragment(int f, Word (&out)[4]) const {
    constexpr Word kOne = std::is_same_v<T, __half> ? 0x3c00 : 0x3f80;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const Word two = bits >> (8 * f + 2 * i);
      out[i] = ((two & 1) | ((two & 2) << 15)) * kOne;
    }
  }
};
template <class T>
struct LeftStep<T, true> {
  uint4 value[4];
  __device__ void load(const DenseBlockArgs<T>& args, std::int64_t step, int warp, int lane) {
#pragma unroll
    for (int f = 0; f < 4; ++f)
      value[f] = args.values[((step * Blocks::kWarps + warp) * 4 + f) * kWarp + lane];
  }
  __device__ void fragment(int f, Word (&out)[4]) const {
    out[0] = value[f].x, out[1] = value[f].y, out[2] = value[f].z, out[3] = value[f].w;
  }
};

/// Loads the rows of X of a step. A thread loads the same 16 bytes of kPasses rows.
template <class T, int kWidth>
struct StepLoader {
  static constexpr int kChunks = kWidth / 8;  // of 16 bytes, of a row
  static constexpr int kRowsAPass = kThreads / kChunks, kPasses = Blocks::kDepth / kRowsAPass;
  static constexpr int kStageBytes = Blocks::kDepth * kWidth * 2;

  const DenseBlockArgs<T>& args;
  const std::int32_t* col;  // of step 0 of this group
  const int chunk = threadIdx.x % kChunks, row = threadIdx.x / kChunks;
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.y) * kWidth + chunk * 8;
  const bool inside = column < args.pitch;
  const T* const from = args.x + (inside ? column : 0);
  std::int32_t next[kPasses];  // columns of A of the step to be loaded next

  __device__ void load_columns(int step) {
#pragma unroll
    for (int p = 0; p < kPasses; ++p) next[p] = col[step * Blocks::kDepth + row + p * kRowsAPass];
  }
  __device__ void start(unsigned char* stage) const {
#pragma unroll
    for (int p = 0; p < kPasses; ++p) {
      const int r = row + p * kRowsAPass;
      const bool wanted = inside && next[p] >= 0;
      async_copy_or_zero<16>(stage + r * kWidth * 2 + ((chunk ^ (r & 7)) * 16),
                             from + (wanted ? next[p] * args.pitch : 0), wanted);
    }
  }
};

/// Adds the products of a step: 32 rows of Y a warp.
template <class T, bool kWeighted, int kWidth>
__device__ __forceinline__ void add_step(float (&sum)[2][kWidth / 8][4], const LeftStep<T, kWeighted>& left,
                                         const unsigned char* stage, int lane) {
  const int k = lane / 8 % 2 * 8 + lane % 8, chunk = lane / 16;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    Word a[2][4];
    left.fragment(2 * half, a[0]);
    left.fragment(2 * half + 1, a[1]);
    const Word row = shared_address(stage + (half * 16 + k) * kWidth * 2);
#pragma unroll
    for (int j = 0; j < kWidth / 16; ++j) {
      Word b[4];
      load_transposed(b, row + (((2 * j + chunk) ^ (k & 7)) * 16));
#pragma unroll
      for (int m = 0; m < 2; ++m) {
        mma_m16n8k16<T>(sum[m][2 * j], a[m], {b[0], b[1]});
        mma_m16n8k16<T>(sum[m][2 * j + 1], a[m], {b[2], b[3]});
      }
    }
  }
}

/// A warp's sums of 16 rows in shared memory, where each lane has kVec columns of every row.
template <class T, bool kWeighted, int kWidth>
struct SegmentSums {
  static constexpr int kVec = kWidth / kWarp, kInFlight = 16;
  using Sums = Pack<float, kVec>;
  using Elements = Pack<Word, kVec / 2>;  // as loaded: the compiler takes T apart at once, which waits for it

  const DenseBlockArgs<T>& args;
  float* const sums;  // [kSegment, kWidth]
  const int lane = threadIdx.x % kWarp;
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.y) * kWidth + lane * kVec;
  const bool inside = column < args.pitch;
  const T* const x = args.x + (inside ? column : 0);

  /// Groups of 8 columns are permuted, so that fragments are stored without bank conflicts.
  __device__ float* at(int row, int col) const { return sums + row * kWidth + (col ^ ((row & 3) << 3)); }
  __device__ Sums& own(int row) const { return *reinterpret_cast<Sums*>(at(row, lane * kVec)); }

  __device__ void store(const float (&fragments)[kWidth / 8][4]) const {
    const int g = lane / 4, t = lane % 4;
#pragma unroll
    for (int j = 0; j < kWidth / 8; ++j) {
      *reinterpret_cast<float2*>(at(g, 8 * j + 2 * t)) = {fragments[j][0], fragments[j][1]};
      *reinterpret_cast<float2*>(at(g + 8, 8 * j + 2 * t)) = {fragments[j][2], fragments[j][3]};
    }
  }

  __device__ Elements load(std::int32_t col) const {
    return *reinterpret_cast<const Elements*>(x + col * args.pitch);
  }
  static __device__ void add(Sums& sum, const Elements& row, float weight) {
    const T* const element = reinterpret_cast<const T*>(row.value);
#pragma unroll
    for (int v = 0; v < kVec; ++v) sum.value[v] += weight * widen(element[v]);
  }
  __device__ float weight(std::int64_t edge) const {
    if constexpr (kWeighted)
      return widen(args.weight[edge]);
    else
      return 1;
  }

  /// An edge of the rest, in the lane that loaded it.
  struct Entry {
    std::int32_t col = 0;
    int row = 0;
    float weight = 0;
  };
  __device__ Entry load_entry(std::int64_t e, std::int64_t end) const {
    if (e >= end) return {};
    return {args.rest_col[e], args.rest_row[e], weight(kWeighted ? args.rest_edge[e] : 0)};
  }
  __device__ void add_rest(std::int64_t begin, std::int64_t end) const {
    Entry next = load_entry(begin + lane, end);
    for (std::int64_t first = begin; first < end; first += kWarp) {
      const Entry entry = next;
      next = load_entry(first + kWarp + lane, end);
      const int count = static_cast<int>(min(end - first, std::int64_t{kWarp}));
      for (int i = 0; i < count; i += kInFlight) {
        Elements loaded[kInFlight];  // none is conditional: the last row is loaded again
#pragma unroll
        for (int j = 0; j < kInFlight; ++j)
          loaded[j] = load(__shfl_sync(kFullMask, entry.col, min(i + j, count - 1)));
#pragma unroll
        for (int j = 0; j < kInFlight; ++j) {
          const int row = __shfl_sync(kFullMask, entry.row, i + j);
          const float w = __shfl_sync(kFullMask, entry.weight, i + j);
          if (i + j >= count) continue;
          Sums sum = own(row);
          add(sum, loaded[j], w);
          own(row) = sum;
        }
      }
    }
  }

  /// Zeros of the left operand times infinity are NaN in rows without that edge: sums that are not finite are
  /// computed again, edge by edge.
  __device__ Sums finite(int row, std::int32_t id) const {
    Sums sum = own(row);
    bool is_finite = true;
#pragma unroll
    for (int v = 0; v < kVec; ++v) is_finite = is_finite && isfinite(sum.value[v]);
    if (is_finite || !inside) return sum;
    sum = {};
#pragma unroll 1
    for (std::int64_t e = args.row_ptr[id]; e < args.row_ptr[id + 1]; ++e)
      add(sum, load(args.csr_col[e]), weight(e));
    return sum;
  }

  __device__ void write(const std::int32_t* rows) const {
    for (int r = 0; r < Blocks::kSegment; ++r) {
      const std::int32_t id = rows[r];
      if (id < 0) return;  // only the last group is ragged
      const Sums sum = finite(r, id);
      Elements out;
      T* const element = reinterpret_cast<T*>(out.value);
#pragma unroll
      for (int v = 0; v < kVec; ++v) element[v] = static_cast<T>(sum.value[v]);
      T* const to = args.y + id * args.n + column;
      if (args.whole_vectors) {
        if (column < args.n) *reinterpret_cast<Elements*>(to) = out;
      } else {
#pragma unroll
        for (int v = 0; v < kVec; ++v)
          if (column + v < args.n) to[v] = element[v];
      }
    }
  }
};

// grid (groups, column tiles)
template <class T, bool kWeighted, int kWidth>
__global__ void __launch_bounds__(kThreads, 2) spmm_dense_blocks_kernel(const DenseBlockArgs<T> args) {
  using Loader = StepLoader<T, kWidth>;
  __shared__ alignas(128) unsigned char stages[kStages][Loader::kStageBytes];
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const std::int64_t group = blockIdx.x, begin = args.step_begin[group];
  const int steps = static_cast<int>(args.step_begin[group + 1] - begin);

  float sum[2][kWidth / 8][4] = {};
  if (steps > 0) {
    Loader loader{args, args.col + begin * Blocks::kDepth};
    LeftStep<T, kWeighted> left, next_left;
    next_left.load(args, begin, warp, lane);
    for (int s = 0; s < kStages - 1; ++s) {
      if (s < steps) {
        loader.load_columns(s);
        loader.start(stages[s]);
      }
      async_copy_commit();
    }
    if (kStages - 1 < steps) loader.load_columns(kStages - 1);
    for (int s = 0; s < steps; ++s) {
      async_copy_wait<kStages - 2>();
      __syncthreads();
      left = next_left;
      if (s + 1 < steps) next_left.load(args, begin + s + 1, warp, lane);
      if (s + kStages - 1 < steps) loader.start(stages[(s + kStages - 1) % kStages]);
      async_copy_commit();
      if (s + kStages < steps) loader.load_columns(s + kStages);
      add_step<T, kWeighted, kWidth>(sum, left, stages[s % kStages], lane);
    }
    async_copy_wait_all();
    __syncthreads();
  }

  static_assert(sizeof(stages) == sizeof(float) * Blocks::kWarps * Blocks::kSegment * kWidth);
  const SegmentSums<T, kWeighted, kWidth> segment{
      args, reinterpret_cast<float*>(&stages[0][0]) + warp * Blocks::kSegment * kWidth};
#pragma unroll
  for (int m = 0; m < 2; ++m) {
    const std::int64_t at = group * Blocks::kSegments + warp * 2 + m;
    segment.store(sum[m]);
    __syncwarp();
    segment.add_rest(args.rest_begin[at], args.rest_begin[at + 1]);
    segment.write(args.row + at * Blocks::kSegment);
    __syncwarp();
  }
}

template <class T>
__global__ void place_weights_kernel(const T* weight, const std::int32_t* place, T* values,
                                     std::int64_t edges) {
  RODEO_GRID_STRIDE(e, edges) if (place[e] >= 0) values[place[e]] = weight[e];
}

/// The weights in the tiles of the plan, with zeros where there is no edge.
template <class T>
Tensor place_weights(const Blocks& blocks, const Tensor& weight) {
  const Tensor values =
      Tensor::zeros({blocks.steps() * Blocks::kStepElements}, weight.dtype(), weight.device());
  constexpr int kFillThreads = 256;
  launch("spmm_dense_blocks", weight.device(), place_weights_kernel<T>, grid_for(blocks.edges, kFillThreads),
         dim3(kFillThreads), 0, device_data<const T>(weight), blocks.place.data<std::int32_t>(),
         device_data<T>(values), blocks.edges);
  return values;
}

template <class T>
void run(const Csr& a, const Blocks& blocks, const Tensor& weight, const PaddedRows& x, const Tensor& y) {
  const std::int64_t n = y.dim(1);
  const Tensor values = weight.defined() ? place_weights<T>(blocks, weight) : Tensor();
  const DenseBlockArgs<T> args{.row_ptr = a.row_ptr.data<std::int64_t>(),
                               .csr_col = a.col.data<std::int32_t>(),
                               .weight = device_data<T>(weight),
                               .x = device_data<T>(x.x),
                               .y = device_data<T>(y),
                               .row = blocks.row.data<std::int32_t>(),
                               .step_begin = blocks.step_begin.data<std::int32_t>(),
                               .col = blocks.col.data<std::int32_t>(),
                               .bits = static_cast<const Word*>(blocks.bits.raw()),
                               .values = static_cast<const uint4*>(values.raw()),
                               .rest_begin = blocks.rest_begin.data<std::int64_t>(),
                               .rest_col = blocks.rest_col.data<std::int32_t>(),
                               .rest_edge = blocks.rest_edge.data<std::int32_t>(),
                               .rest_row = blocks.rest_row.data<std::uint8_t>(),
                               .n = n,
                               .pitch = x.pitch,
                               .whole_vectors = rows_are_aligned(y, n)};
  const auto launch_width = [&]<bool kWeighted, int kWidth>() {
    const dim3 grid(static_cast<unsigned>(blocks.groups()), static_cast<unsigned>(ceil_div(n, kWidth)));
    launch("spmm_dense_blocks", y.device(), spmm_dense_blocks_kernel<T, kWeighted, kWidth>, grid,
           dim3(kThreads), 0, args);
  };
  const auto launch_weighted = [&]<bool kWeighted>() {
    if (n <= 64)
      launch_width.template operator()<kWeighted, 64>();
    else
      launch_width.template operator()<kWeighted, 128>();
  };
  if (weight.defined())
    launch_weighted.template operator()<true>();
  else
    launch_weighted.template operator()<false>();
}

}  // namespace

void spmm_dense_blocks(const Csr& a, const DenseBlocks& blocks, const Tensor& weight, const Tensor& x,
                       const Tensor& y) {
  const PaddedRows rows(x, 1, x.dim(1));
  if (x.dtype() == DType::kF16)
    run<__half>(a, blocks, weight, rows, y);
  else
    run<__nv_bfloat16>(a, blocks, weight, rows, y);
}

}  // namespace rodeo::kernels::cuda
