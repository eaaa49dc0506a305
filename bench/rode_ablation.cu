// Kernels of RoDe SpMM with one part switched off. The warp loop, loader and accumulator are the library's
// (ops/cuda/rode); what a form changes is written here.
#include "bench/rode_ablation_kernels.h"
#include "ops/cuda/rode/rode_warp.cuh"

namespace rodeo::bench {
namespace {

using namespace rodeo::kernels::cuda;

template <class Tile>
using Warp = RodeWarp<SimtAccumulator<Tile>>;

/// A piece without the pipeline: the next sub-block is loaded after this one has been added.
template <class Tile>
__device__ void sum_piece_in_turn(Warp<Tile>& work, std::int64_t begin, int length) {
  using Loader = typename Warp<Tile>::Loader;
  const Loader& loader = work.loader;
  const int mine = Loader::kConstantLanes ? loader.member * Tile::kGroups + loader.group : loader.lane;
#pragma unroll 1
  for (int at = 0; at < length; at += kBlock) {
    const auto entries = loader.stream_entry(begin + min(at + mine, length - 1));
    const int limit = min(length - at, kBlock);
#pragma unroll
    for (int s = 0; s < Warp<Tile>::kSubBlocks; ++s) {
      if (s * Warp<Tile>::kSubBlock >= limit) break;
      typename Warp<Tile>::SubBlock now;
      work.load(now, entries, begin + at, s, limit);
      if (limit == kBlock)
        work.add(now, entries.weight, s);
      else
        work.add_first(now, entries.weight, s, limit);
      // The compiler may not move the next loads above the sums.
      asm volatile("" ::: "memory");
      __syncwarp();
    }
  }
}

/// A residual row without loads ahead: of its own column indices, and of the next row.
template <class Tile>
__device__ void sum_row_in_turn(Warp<Tile>& work, std::int64_t begin, int length) {
  using Loader = typename Warp<Tile>::Loader;
  constexpr int kRows = Loader::kRowsInFlight;
  const Loader& loader = work.loader;
#pragma unroll 1
  for (int base = 0; __any_sync(kFullMask, base < length); base += Tile::kLanes) {
    const auto entries = loader.load_first_entry(begin + base, length - base);
#pragma unroll
    for (int j = 0; j < Tile::kLanes; j += kRows) {
      typename Loader::Row row[kRows];
      typename Loader::Sum weight[kRows];
#pragma unroll
      for (int k = 0; k < kRows; ++k) {
        const auto entry = loader.entry_of_member(entries, j + k);
        row[k] = typename Loader::Row{};
        weight[k] = 0;
        if (base + j + k < length) row[k] = loader.load_row(entry.col), weight[k] = entry.weight;
      }
      work.sums.add_rows(row, weight);
    }
  }
}

/// Adds the sums of a group to a row of Y. One head; Y has the layout of X.
template <class Tile>
__device__ void add_row(const Warp<Tile>& work, std::int64_t row, bool valid) {
  const auto& loader = work.loader;
  if (!valid) return;
#pragma unroll
  for (int l = 0; l < Tile::kLoads; ++l)
#pragma unroll
    for (int v = 0; v < Tile::kVec; ++v)
      atomicAdd(loader.args.y + row * loader.args.k + loader.column + l * Tile::kLoadStride + v,
                work.sums.sum[l * Tile::kVec + v]);
}

template <RodeKernel kKernel, class Tile>
__device__ void run_piece(Warp<Tile>& work, const RodeArgs<float>& rode, std::int64_t warp) {
  const auto& args = work.loader.args;
  const RodeView::Part piece = rode.plan.piece(warp);
  if constexpr (kKernel == RodeKernel::kNoPipeline)
    sum_piece_in_turn<Tile>(work, piece.begin, piece.length);
  else
    work.sum_piece(piece.begin, piece.length);
  reduce_groups<Tile>(work.sums.sum);
  if constexpr (kKernel == RodeKernel::kResiduesApart) {
    const bool is_alone = args.row_ptr[piece.row + 1] - args.row_ptr[piece.row] == piece.length;
    if (is_alone)
      store_row(work.loader, work.sums.sum, piece.row, work.loader.group == 0);
    else
      add_row<Tile>(work, piece.row, work.loader.group == 0);
  } else if (finish_piece(work.loader, work.sums.sum, rode, piece, rode.plan.piece_split[warp])) {
    store_row(work.loader, work.sums.sum, piece.row, work.loader.group == 0);
  }
}

template <RodeKernel kKernel, class Tile>
__device__ void run_residual_rows(Warp<Tile>& work, const RodeView& plan, std::int64_t warp) {
  const auto& args = work.loader.args;
  const std::int64_t at = (warp - plan.pieces) * Tile::kGroups + work.loader.group;
  const RodeView::Part part = plan.residual(at);
  const bool valid = at < plan.residuals;
  if constexpr (kKernel == RodeKernel::kNoPipeline)
    sum_row_in_turn<Tile>(work, part.begin, part.length);
  else
    sum_row(work.loader, work.sums, part.begin, part.length,
            work.loader.load_first_entry(part.begin, part.length));
  // The text adds atomically only where the row has a block part.
  const bool is_alone = kKernel != RodeKernel::kResiduesApart || !valid ||
                        args.row_ptr[part.row + 1] - args.row_ptr[part.row] == part.length;
  store_row(work.loader, work.sums.sum, part.row, valid && is_alone);
  if constexpr (kKernel == RodeKernel::kResiduesApart) add_row<Tile>(work, part.row, valid && !is_alone);
}

// grid (warps / warps of a thread block, column tiles), block kRodeThreads.
template <RodeKernel kKernel, class Tile>
__global__ void __launch_bounds__(kRodeThreads, Tile::kLoads == 2 ? 5 : 7)
    rode_kernel(const SpmmArgs<float> args, const RodeArgs<float> rode, int rounds) {
  if constexpr (kKernel == RodeKernel::kFull) {
    run_rode<SimtAccumulator<Tile>>(args, rode, rounds);
  } else {
    Warp<Tile> work(args);
    const std::int64_t warp = (static_cast<std::int64_t>(blockIdx.x) * kRodeThreads + threadIdx.x) / kWarp;
    if (warp < rode.plan.pieces)
      run_piece<kKernel, Tile>(work, rode, warp);
    else
      run_residual_rows<kKernel, Tile>(work, rode.plan, warp);
  }
}

// A warp a row. grid (rows / warps of a thread block, column tiles), block kRodeThreads.
template <class Tile>
__global__ void __launch_bounds__(kRodeThreads, Tile::kLoads == 2 ? 5 : 7)
    warp_a_row_kernel(const SpmmArgs<float> args) {
  Warp<Tile> work(args);
  const std::int64_t row = (static_cast<std::int64_t>(blockIdx.x) * kRodeThreads + threadIdx.x) / kWarp;
  if (row >= args.rows) return;
  const std::int64_t begin = args.row_ptr[row];
  const int length = static_cast<int>(args.row_ptr[row + 1] - begin);
  if (length > 0) work.sum_piece(begin, length);
  reduce_groups<Tile>(work.sums.sum);
  store_row(work.loader, work.sums.sum, row, work.loader.group == 0);
}

template <class Tile>
void run(RodeKernel kernel, const Csr& a, const RodePlan& plan, const SpmmArgs<float>& args,
         const Tensor& y) {
  const Device device = y.device();
  SpmmLaunch launch_of{.kernel = SpmmKernel::kWarps, .tiles = args.k / Tile::kWidth};
  if (kernel == RodeKernel::kNoDecomposition) {
    launch("rode_ablation", device, warp_a_row_kernel<Tile>,
           dim3(static_cast<unsigned>(ceil_div(a.rows, kRodeThreads / kWarp)),
                static_cast<unsigned>(launch_of.tiles)),
           dim3(kRodeThreads), 0, args);
    return;
  }
  std::optional<Scratch> partial;
  const auto rode = make_rode_args<Tile>(plan, args, launch_of.tiles, device, true, partial);
  const auto enqueue = [&](auto* function) {
    launch_rode<Tile>("rode_ablation", function, plan, args, rode, launch_of, device);
  };
  if (kernel == RodeKernel::kFull) {
    constexpr std::int64_t kMaxRounds = 4;  // as in ops/plan/spmm_config.cpp
    launch_of.rounds = rounds_for(ceil_div(plan.num_residual(), Tile::kGroups) * launch_of.tiles, kMaxRounds,
                                  Context::of(device).properties());
    enqueue(rode_kernel<RodeKernel::kFull, Tile>);
  } else if (kernel == RodeKernel::kNoPipeline) {
    enqueue(rode_kernel<RodeKernel::kNoPipeline, Tile>);
  } else {
    y.fill(0);
    enqueue(rode_kernel<RodeKernel::kResiduesApart, Tile>);
  }
}

}  // namespace

void run_rode_kernel(RodeKernel kernel, const Csr& a, const RodePlan& plan, const Tensor& weight,
                     const Tensor& x, const Tensor& y) {
  const SpmmSizes sizes = spmm_sizes(a, weight, x, y);
  check(sizes.x_is_aligned && is_aligned(y), "[rode_ablation] x and y must begin at multiples of 16 bytes");
  const auto args = make_spmm_args<float>(a, weight, x, sizes, sizes.k, y);
  const SpmmConfig config = choose_rode_config(
      sizes, {plan.num_pieces(), plan.num_residual(), 0, plan.local_rows, plan.is_clustered},
      Context::of(y.device()).properties());
  const bool two_loads = sizes.k % 64 == 0 && config.launches().front().tile.loads == 2;  // as the library
  const auto with_tile = [&]<Weighting kWeighting>() {
    if (two_loads)
      run<Tile<float, 8, kWeighting, 2>>(kernel, a, plan, args, y);
    else
      run<Tile<float, 8, kWeighting>>(kernel, a, plan, args, y);
  };
  if (weight.defined())
    with_tile.operator()<Weighting::kPerEdge>();
  else
    with_tile.operator()<Weighting::kNone>();
}

}  // namespace rodeo::bench
