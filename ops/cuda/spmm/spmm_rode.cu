// Y = A X by RoDe's row decomposition. choose_rode_config() says which kernels run (ops/plan/spmm_config.h):
// the warp loop of rode_warp.cuh, or for small graphs spmm_teams.cuh and spmm_tiny.cuh.
#include "ops/cuda/rode/rode_warp.cuh"
#include "ops/cuda/spmm/spmm_teams.cuh"
#include "ops/cuda/spmm/spmm_tiny.cuh"

namespace rodeo::kernels::cuda {
namespace {

template <class Tile>  // more warps hide latency better than more registers do
constexpr int blocks_per_multiprocessor() {
  constexpr bool kWeighted = Tile::kWeighting != Weighting::kNone;
  if (Tile::kVec == 1) return std::max(7, 10 - Tile::kLoads - kWeighted);
  return sizeof(typename Tile::T) == 8 || Tile::kLoads == 2 ? 5 : 7;
}

template <class Tile>
__global__ void __launch_bounds__(kRodeThreads, blocks_per_multiprocessor<Tile>())
    spmm_rode_kernel(const SpmmArgs<typename Tile::T> args, const RodeArgs<typename Tile::Sum> rode,
                     int rounds) {
  run_rode<SimtAccumulator<Tile>>(args, rode, rounds);
}

}  // namespace

void spmm_rode(const Csr& a, const RodePlan& plan, Accumulate accumulate, const Tensor& weight,
               const Tensor& x, const Tensor& y) {
  const bool ordered = accumulate != Accumulate::kAtomic;
  if (!ordered && plan.num_split_rows() > 0) y.fill(0);
  const Device device = y.device();
  const ResidualBins bins(plan, kWarp);
  const SpmmSizes sizes = spmm_sizes(a, weight, x, y);
  const SpmmConfig config =
      choose_rode_config(sizes, rode_sizes(plan, bins.warps), Context::of(device).properties());
  const Tensor rows = config.copies_x ? PaddedRows(x, sizes.heads, sizes.k).x : x;
  dispatch_float(x.dtype(), "spmm", [&]<class Host>(Host) {
    using T = device_t<Host>;
    SpmmArgs<T> args = make_spmm_args<T>(a, weight, rows, sizes, config.pitch, y);
    for (const SpmmLaunch& l : config.launches()) {
      args.first = l.first_column;
      std::optional<Scratch> partial;
      if (l.kernel == SpmmKernel::kTiny) {
        if constexpr (sizeof(T) <= 4) launch_tiny<T>(a, weight, x, sizes, y);
      } else if (l.kernel == SpmmKernel::kTeams) {
        dispatch_tile<SpmmKernel::kTeams, T>(l.tile, sizes.weighting, [&]<class Tile>(Tile) {
          const auto rode = make_rode_args<Tile>(plan, args, l.tiles, device, ordered, partial);
          const std::int64_t blocks = plan.num_pieces() + ceil_div(bins.warps, kTeamWarps);
          const L2Prefetch prefetch(args.col, a.col.nbytes(), args.x, a.cols * args.row_bytes,
                                    blocks * l.tiles * kTeamThreads);
          launch("spmm_rode", device, spmm_teams_kernel<Tile>,
                 dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(l.tiles)), dim3(kTeamThreads),
                 staging_bytes<Tile>(args, kTeamThreads), args, rode, bins, prefetch);
        });
      } else {
        dispatch_tile<SpmmKernel::kWarps, T>(l.tile, sizes.weighting, [&]<class Tile>(Tile) {
          const auto rode = make_rode_args<Tile>(plan, args, l.tiles, device, ordered, partial);
          launch_rode<Tile>("spmm_rode", spmm_rode_kernel<Tile>, plan, args, rode, l, device);
        });
      }
    }
  });
}

}  // namespace rodeo::kernels::cuda
