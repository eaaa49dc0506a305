// Y = A X by RoDe's row decomposition, in one launch, or two where a narrow column tile is left. Launches
// that leave most of the GPU idle: spmm_teams.cuh; all others: rode_warp.cuh.
#include "ops/cuda/rode_warp.cuh"
#include "ops/cuda/spmm_teams.cuh"

namespace rodeo::kernels::cuda {
namespace {

template <class Tile>  // warps hide latency better than registers do
constexpr int kBlocksOfMultiprocessor = sizeof(typename Tile::T) == 8 || Tile::kChunks == 2 ? 5 : 7;

template <class Tile>
__global__ void __launch_bounds__(kRodeThreads, kBlocksOfMultiprocessor<Tile>)
    spmm_rode_kernel(const SpmmArgs<typename Tile::T> args, const RodeArgs<typename Tile::Sum> rode,
                     int rounds) {
  run_rode<RodeRow<Tile>>(args, rode, rounds);
}

/// Whether the blocks of spmm_teams_kernel are few enough: one round of them, or up to two and a half where
/// the longest chain is that of a long row.
template <class Tile>
bool teams_pay(const RodePlan& plan, std::int64_t blocks, Device device) {
  const std::int64_t at_once = kTeamBlocks<Tile> * Context::of(device).num_multiprocessors();
  return blocks <= (plan.num_pieces() > 0 ? at_once * 5 / 2 : at_once);
}

}  // namespace

void spmm_rode(const Csr& a, const RodePlan& plan, Accumulate accumulate, const Tensor& weight,
               const Tensor& x, const Tensor& y) {
  const bool atomic = accumulate == Accumulate::kAtomic;
  if (atomic && plan.num_split_rows() > 0) y.fill(0);
  dispatch_float(x.dtype(), "spmm", [&]<class T>(T) {
    dispatch_tile<T, true>(a, weight, x, y, [&]<class Tile>(Tile, const auto& args, std::int64_t tiles) {
      const Device device = y.device();
      Tensor partial;
      const auto rode = make_rode_args<Tile>(plan, args, tiles, device, !atomic, partial);
      const ShortRows rows(plan, kWarp);
      const std::int64_t blocks = plan.num_pieces() + ceil_div(rows.warps, kTeamThreads / kWarp);
      if (!teams_pay<Tile>(plan, blocks * tiles, device))
        return launch_rode<Tile>("spmm_rode", spmm_rode_kernel<Tile>, plan, args, rode, tiles, device);
      const dim3 grid(static_cast<unsigned>(blocks), static_cast<unsigned>(tiles));
      launch("spmm_rode", device, spmm_teams_kernel<typename Tile::AsRagged>, grid, dim3(kTeamThreads),
             staging_bytes<Tile>(args, kTeamThreads), args, rode,
             TeamArgs(rows, a, args.row_bytes, blocks * tiles));
    });
  });
}

}  // namespace rodeo::kernels::cuda
