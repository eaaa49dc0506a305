// Y = A X by RoDe's row decomposition, in one launch, or two where a narrow column tile is left. Launches
// that leave most of the GPU idle: spmm_teams.cuh, spmm_tiny.cuh; all others: rode_warp.cuh.
#include "ops/cuda/rode/rode_warp.cuh"
#include "ops/cuda/spmm/spmm_teams.cuh"
#include "ops/cuda/spmm/spmm_tiny.cuh"

namespace rodeo::kernels::cuda {
namespace {

template <class Tile>  // warps hide latency better than registers do
constexpr int blocks_of_multiprocessor() {
  constexpr bool kWeighted = Tile::kWeighting != Weighting::kNone;
  if (Tile::kVec == 1) return std::max(7, 10 - Tile::kChunks - kWeighted);
  return sizeof(typename Tile::T) == 8 || Tile::kChunks == 2 ? 5 : 7;
}

template <class Tile>
__global__ void __launch_bounds__(kRodeThreads, blocks_of_multiprocessor<Tile>())
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

/// Chunks of 8 elements.
template <class T, Weighting kWeighting, int kChunks = 1>
using ByElements = Tile<T, 8, kWeighting, kChunks, kChunks != 1, 1>;

/// Whether rows of X that 16-byte loads cannot read are summed faster element by element, in one tile, than
/// from a padded copy (docs/kernels.md): a row of up to 8 columns is one request either way; on a small graph
/// the copy's launch takes longer than the slower loads do; 33 to 48 columns pay where few edges share the
/// cost of the copy, fewer where a load has 16 bits.
template <class T>
bool elements_pay(std::int64_t k, std::int64_t edges, std::int64_t cols) {
  if (sizeof(T) > 4) return false;
  const bool small = edges <= std::int64_t{1} << 19;
  if (k <= 32) return k <= 8 || small;
  return k <= 48 && (sizeof(T) == 4 ? edges < 56 * cols : small && edges < 32 * cols);
}

template <class Tile>  // for what elements_pay says
constexpr bool kOneTileByElements = Tile::kVec == 1 && Tile::kWeighting != Weighting::kPerHead &&
                                    sizeof(typename Tile::T) <= 4;

/// As many chunks as k takes, from kChunks on.
template <int kChunks, class T, class F>
void cover_by_chunks(const SpmmArgs<T>& args, const F& cover) {
  if constexpr (kChunks < 6)
    if (args.k > kChunks * 8) return cover_by_chunks<kChunks + 1>(args, cover);
  if (args.weight)
    cover(ByElements<T, Weighting::kPerEdge, kChunks>{}, args, 1);
  else
    cover(ByElements<T, Weighting::kNone, kChunks>{}, args, 1);
}

/// Covers rows of X that 16-byte loads cannot read without a copy, where that is faster: by tiles of 8
/// columns where teams pay even so, else by one.
template <class T, class F>
bool by_elements(const Csr& a, const RodePlan& plan, const Tensor& weight, const Tensor& x, const Tensor& y,
                 std::int64_t team_blocks, const F& cover) {
  using D = device_t<T>;
  using Unweighted = ByElements<D, Weighting::kNone>;
  const std::int64_t heads = heads_of(weight), k = y.numel() / (a.rows * heads);
  if (rows_are_aligned(x, k)) return false;
  const SpmmArgs<D> args = make_args<T>(a, weight, x, k, heads, k, y);
  const std::int64_t tiles = ceil_div(heads * k, Unweighted::kWidth);
  if (teams_pay<Unweighted>(plan, team_blocks * tiles, y.device())) {
    dispatch_weighting(weight,
                       [&]<Weighting kWeighting>() { cover(ByElements<D, kWeighting>{}, args, tiles); });
    return true;
  }
  if (heads > 1 || !elements_pay<T>(k, a.col.numel(), a.cols)) return false;
  if constexpr (sizeof(T) <= 4) cover_by_chunks<1>(args, cover);
  return true;
}

}  // namespace

void spmm_rode(const Csr& a, const RodePlan& plan, Accumulate accumulate, const Tensor& weight,
               const Tensor& x, const Tensor& y) {
  const bool atomic = accumulate == Accumulate::kAtomic;
  if (atomic && plan.num_split_rows() > 0) y.fill(0);
  dispatch_float(x.dtype(), "spmm", [&]<class T>(T) {
    if (spmm_tiny<T>(a, plan, weight, x, y)) return;
    const Device device = y.device();
    const ResidualBins rows(plan, kWarp);
    const std::int64_t team_blocks = plan.num_pieces() + ceil_div(rows.warps, kTeamThreads / kWarp);
    const auto cover = [&]<class Tile>(Tile, const auto& args, std::int64_t tiles) {
      std::optional<Scratch> partial;
      const auto rode = make_rode_args<Tile>(plan, args, tiles, device, !atomic, partial);
      if (teams_pay<Tile>(plan, team_blocks * tiles, device)) {
        const dim3 grid(static_cast<unsigned>(team_blocks), static_cast<unsigned>(tiles));
        return launch("spmm_rode", device, spmm_teams_kernel<typename Tile::AsRagged>, grid,
                      dim3(kTeamThreads), staging_bytes<Tile>(args, kTeamThreads), args, rode, rows,
                      L2Prefetch(args.col, a.col.nbytes(), args.x, a.cols * args.row_bytes,
                                 team_blocks * tiles * kTeamThreads));
      }
      if constexpr (Tile::kVec > 1 || kOneTileByElements<Tile>)
        launch_rode<Tile>("spmm_rode", spmm_rode_kernel<Tile>, plan, args, rode, tiles, device);
    };
    if (!by_elements<T>(a, plan, weight, x, y, team_blocks, cover))
      dispatch_tile<T, true>(a, weight, x, y, cover);
  });
}

}  // namespace rodeo::kernels::cuda
