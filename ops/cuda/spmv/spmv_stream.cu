// y = A x in tiles of equal work (ops/plan/spmv_tiles.h): CSR-stream (Greathouse & Daga, SC 2014) on the
// tiles of merge-path SpMV (Merrill & Garland, SC 2016).
//
// A block takes a tile. Its threads read columns and weights in memory order, 16 bytes at a time and whatever
// their rows, so that no lane is idle and every thread has kInFlight gathers of x in flight. The products go
// to shared memory, where groups of lanes sum a row each. The row pointers are loaded together with the
// columns.
//
// Only rows of more than SpmvTileSize::long_row() nonzeros are cut. Their parts are written to a workspace;
// the last block to arrive adds them in the order of tiles.
#include <algorithm>
#include <type_traits>

#include "core/cuda/warp.cuh"
#include "ops/cuda/device/architecture.cuh"
#include "ops/cuda/device/last_block.cuh"
#include "ops/cuda/device/loads.cuh"
#include "ops/cuda/device/pack.cuh"
#include "ops/cuda/device/scratch.h"
#include "ops/cuda/device/tensor_data.cuh"
#include "ops/kernels/sparse.h"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kInFlight = 8;  // nonzeros of a thread
constexpr int kAlignment =
    8;  // nonzeros: a tile is read from a multiple of it on, with any type in whole words
constexpr int kSharedThreads = 1536;  // resident threads of a multiprocessor that have shared memory
constexpr int kMaxPerLane = 16;       // products; the whole warp sums a row of more
template <class T, int kThreads>
constexpr int kBlocksPerMultiprocessor = (sizeof(T) == 8 ? 1024 : kThreadsPerMultiprocessor) / kThreads;
template <int kThreads>
constexpr int kCapacity = kThreads* kInFlight;
static_assert(SpmvTileSize{256}.max_items() + 2 * kAlignment <= kCapacity<256>,
              "a thread has kInFlight nonzeros");

template <class T>
struct StreamArgs {
  const std::int64_t *row_ptr, *tile_begin, *tile_row;
  const std::int32_t* col;
  const T *weight, *x;  // weight may be null
  T* y;
  std::int64_t edges;
  Accumulator<T>* partial;  // [2 * tiles]: the part of a row that began before, and of one that continues
  int* arrived;             // [tiles], zero before and after the launch; at the tile where the row begins
};

/// Products of a tile, then the places where its rows begin: both together are at most kCapacity items.
template <class Sum, int kThreads>
struct TileMemory {
  alignas(16) Sum product[kCapacity<kThreads>];
  Sum of_warp[kThreads / kWarp];
};

template <class V, int kRun>
__device__ __forceinline__ Pack<V, kRun> load_run(const V* from) {
  Pack<V, kRun> run;
  using Word = std::conditional_t<kRun == 1, V, std::conditional_t<sizeof(run) == 8, uint2, uint4>>;
#pragma unroll
  for (std::size_t i = 0; i < sizeof(run) / sizeof(Word); ++i)
    reinterpret_cast<Word*>(&run)[i] = load_streaming(reinterpret_cast<const Word*>(from) + i);
  return run;
}

/// Sums the part of a cut row in products [from, to), and all parts if it is the last one to arrive.
template <class T, int kThreads>
__device__ void add_part(const StreamArgs<T>& args, TileMemory<Accumulator<T>, kThreads>& memory,
                         std::int64_t row, bool begins_here, int from, int to) {
  using Sum = Accumulator<T>;
  constexpr SpmvTileSize kSize{kThreads};
  const int thread = static_cast<int>(threadIdx.x);
  Sum sum = 0;
  for (int p = from + thread; p < to; p += kThreads) sum += memory.product[p];
  sum = sum_over(sum);
  if (thread % kWarp == 0) memory.of_warp[thread / kWarp] = sum;
  __syncthreads();
  if (thread < kWarp) {
    const std::int64_t first = kSize.tile_of(args.row_ptr[row], row),
                       last = kSize.tile_of(args.row_ptr[row + 1] - 1, row);
    if (thread == 0) {
      Sum part = 0;
      for (const Sum of_warp : memory.of_warp) part += of_warp;
      args.partial[2 * static_cast<std::int64_t>(blockIdx.x) + begins_here] = part;
    }
    if (is_last_warp(args.arrived + first, static_cast<int>(last - first) + 1)) {
      Sum total = 0;
      for (std::int64_t tile = first + thread; tile <= last; tile += kWarp)
        total += __ldcg(args.partial + 2 * tile + (tile == first));
      total = sum_over(total);
      if (thread == 0) args.y[row] = static_cast<T>(total);
    }
  }
  __syncthreads();
}

// grid tiles, block kThreads (SpmvTileSize::threads). kRun: consecutive nonzeros that a thread loads at once;
// 4 for aligned columns and weights, else 1.
template <class T, bool kWeighted, int kThreads, int kRun>
__global__ void __launch_bounds__(kThreads, kBlocksPerMultiprocessor<T, kThreads>)
    spmv_stream_kernel(const StreamArgs<T> args) {
  using Sum = Accumulator<T>;
  constexpr int kRuns = kInFlight / kRun;
  __shared__ TileMemory<Sum, kThreads> memory;
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t begin = args.tile_begin[blockIdx.x], first_row = args.tile_row[blockIdx.x];
  const int skipped = static_cast<int>(begin % kAlignment);
  const std::int64_t base = begin - skipped;
  const int stop = static_cast<int>(args.tile_begin[blockIdx.x + 1] - base),
            rows = static_cast<int>(args.tile_row[blockIdx.x + 1] - first_row);
  // Runs do not go beyond the last nonzero of the matrix: up to kRun - 1 are left.
  const int in_runs = args.edges - base >= stop + kRun - 1 ? stop : stop / kRun * kRun;

  Pack<std::int32_t, kRun> column[kRuns];
#pragma unroll
  for (int r = 0; r < kRuns; ++r) {
    const int place = (r * kThreads + thread) * kRun;
    if (place < in_runs) column[r] = load_run<std::int32_t, kRun>(args.col + base + place);
  }
  int* const row_begin = reinterpret_cast<int*>(memory.product + (stop + 3) / 4 * 4);
#pragma unroll 2
  for (int i = thread; i <= rows; i += kThreads)
    row_begin[i] = static_cast<int>(
        min(load_streaming(args.row_ptr + first_row + i) - base, std::int64_t{kCapacity<kThreads>}));
  Pack<Sum, kRun> product[kRuns];
#pragma unroll
  for (int r = 0; r < kRuns; ++r)
#pragma unroll
    for (int i = 0; i < kRun; ++i) {
      const int place = (r * kThreads + thread) * kRun + i;
      product[r].value[i] =
          place >= skipped && place < in_runs ? widen(__ldg(args.x + column[r].value[i])) : Sum(0);
    }
  if constexpr (kWeighted) {
#pragma unroll
    for (int r = 0; r < kRuns; ++r) {
      const int place = (r * kThreads + thread) * kRun;
      if (place >= in_runs) continue;
      const auto weight = load_run<T, kRun>(args.weight + base + place);
#pragma unroll
      for (int i = 0; i < kRun; ++i) product[r].value[i] *= widen(weight.value[i]);
    }
  }
#pragma unroll
  for (int r = 0; r < kRuns; ++r) {
    const int place = (r * kThreads + thread) * kRun;
    if (place < in_runs) *reinterpret_cast<Pack<Sum, kRun>*>(memory.product + place) = product[r];
  }
  if (in_runs + thread < stop) {
    const std::int64_t at = base + in_runs + thread;
    Sum last = widen(args.x[args.col[at]]);
    if constexpr (kWeighted) last *= widen(args.weight[at]);
    memory.product[in_runs + thread] = last;
  }
  __syncthreads();

  const bool continues = rows > 0 && row_begin[rows] > stop;  // the last row
  const int complete = continues ? rows - 1 : rows;
  int log_lanes = 0;  // of a row: all threads have one, or several rows one after the other
  while (log_lanes < 5 && (rows << (log_lanes + 1)) <= kThreads) ++log_lanes;
  const int lanes = 1 << log_lanes, member = thread & (lanes - 1), group = thread >> log_lanes;
  T* const y = args.y + args.tile_row[blockIdx.x];  // loaded again, which saves registers
  for (int first = 0; first < complete; first += kThreads >> log_lanes) {
    const int row = first + group;
    const int from = row < complete ? row_begin[row] : 0, to = row < complete ? row_begin[row + 1] : 0;
    const bool is_long = to - from > kMaxPerLane * lanes;
    Sum sum = 0;
    if (!is_long)
      for (int p = from + member; p < to; p += lanes) sum += memory.product[p];
    __syncwarp();
    sum = sum_over(sum, lanes);
    if (row < complete && !is_long && member == 0) y[row] = static_cast<T>(sum);
    for (unsigned left = __ballot_sync(kFullMask, is_long && member == 0); left != 0; left &= left - 1) {
      const int leader = __ffs(static_cast<int>(left)) - 1;
      const int begin_of = __shfl_sync(kFullMask, from, leader), end_of = __shfl_sync(kFullMask, to, leader),
                long_row = __shfl_sync(kFullMask, row, leader);
      Sum total = 0;
      for (int p = begin_of + thread % kWarp; p < end_of; p += kWarp) total += memory.product[p];
      total = sum_over(total);
      if (thread % kWarp == 0) y[long_row] = static_cast<T>(total);
    }
  }
  const int head_end = min(row_begin[0], stop), tail_begin = row_begin[complete];
  if (head_end > skipped) add_part(args, memory, args.tile_row[blockIdx.x] - 1, false, skipped, head_end);
  if (continues) add_part(args, memory, args.tile_row[blockIdx.x + 1] - 1, true, tail_begin, stop);
}

// grid-stride over the tiles and the end of the last one.
__global__ void spmv_tiles_kernel(const std::int64_t* row_ptr, std::int64_t rows, SpmvTileSize size,
                                  std::int64_t cuts, std::int64_t* begin, std::int64_t* row) {
  RODEO_GRID_STRIDE(i, cuts) {
    const SpmvTiles::Cut cut = SpmvTiles::cut(row_ptr, rows, size, i);
    begin[i] = cut.begin;
    row[i] = cut.row;
  }
}

}  // namespace

SpmvTiles spmv_tiles(const Csr& a, SpmvTileSize size) {
  constexpr int kThreads = 256;
  const Device device = a.row_ptr.device();
  const std::int64_t cuts = size.count(a.rows, a.col.numel()) + 1;
  SpmvTiles tiles{size, Tensor::empty({cuts}, DType::kI64, device),
                  Tensor::empty({cuts}, DType::kI64, device)};
  launch("spmv_tiles", device, spmv_tiles_kernel, grid_for(cuts, kThreads), kThreads, 0,
         a.row_ptr.data<std::int64_t>(), a.rows, size, cuts, tiles.begin.data<std::int64_t>(),
         tiles.row.data<std::int64_t>());
  return tiles;
}

void spmv_stream(const Csr& a, const SpmvTiles& tiles, const Tensor& weight, const Tensor& x,
                 const Tensor& y) {
  dispatch_float(x.dtype(), "spmv", [&]<class Host>(Host) {
    using T = device_t<Host>;
    using Sum = Accumulator<T>;
    const Scratch partial(2 * tiles.num_tiles() * static_cast<std::int64_t>(sizeof(Sum)), y.device());
    const StreamArgs<T> args{a.row_ptr.data<std::int64_t>(),
                             tiles.begin.data<std::int64_t>(),
                             tiles.row.data<std::int64_t>(),
                             a.col.data<std::int32_t>(),
                             device_data<T>(weight),
                             device_data<T>(x),
                             device_data<T>(y),
                             a.col.numel(),
                             static_cast<Sum*>(partial.data()),
                             Context::of(y.device()).zeroed_counters(tiles.num_tiles())};
    const auto run = [&]<int kThreads, int kRun>() {
      // Shared memory for the resident blocks; the rest of the L1 caches x.
      constexpr std::size_t kReserved = 1 << 10;  // by the driver, of each block's shared memory
      const std::size_t shared = kSharedThreads / kThreads * (sizeof(TileMemory<Sum, kThreads>) + kReserved),
                        all = Context::of(y.device()).properties().shared_bytes_per_multiprocessor;
      const auto kernel = weight.defined() ? spmv_stream_kernel<T, true, kThreads, kRun>
                                           : spmv_stream_kernel<T, false, kThreads, kRun>;
      check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                      static_cast<int>(std::min<std::size_t>(100, 100 * shared / all + 1))),
                 "spmv_stream");
      launch("spmv_stream", y.device(), kernel, dim3(static_cast<unsigned>(tiles.num_tiles())),
             dim3(kThreads), 0, args);
    };
    const auto run_threads = [&]<int kThreads>() {
      if (is_aligned(a.col) && is_aligned(weight))
        run.template operator()<kThreads, 4>();
      else
        run.template operator()<kThreads, 1>();
    };
    if (tiles.size.threads == SpmvTileSize::kFew)
      run_threads.template operator()<SpmvTileSize::kFew>();
    else
      run_threads.template operator()<SpmvTileSize::kMany>();
  });
}

}  // namespace rodeo::kernels::cuda
