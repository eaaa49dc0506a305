// Y = A X by RoDe's row decomposition (ops/rode_plan.h), in one launch, or two where a narrow column tile is
// left.
//
// Block part: a warp per (piece, column tile). The warp's groups of lanes take the piece's nonzeros in turn
// and add their sums at the end, by shuffles, so no lane waits for a longer neighbour. A block of 32 nonzeros
// is cut into sub-blocks: while one is added, the rows of X for the next are on their way and so are the
// column indices of the next block. Registers and shuffles stand where the paper has shared memory and
// barriers. Residual part: a group per row. Split rows: each piece leaves its sum in a workspace; the warp
// that finishes last adds them in order, so the result does not depend on which one that is. Column tiles are
// the slow dimension of the grid: at any time the whole GPU works on one slice of X, which is more likely to
// stay in the caches than whole rows are. Launches that leave most of the GPU idle: spmm_teams.cuh,
// spmm_tiny.cuh.
#include <algorithm>

#include "ops/cuda/rode_rows.cuh"
#include "ops/cuda/spmm_teams.cuh"
#include "ops/cuda/spmm_tiny.cuh"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kBlock = static_cast<int>(RodePlan::kBlock);
template <class Tile>  // warps hide latency better than registers do
constexpr int kBlocksOfMultiprocessor = sizeof(typename Tile::T) == 8 || Tile::kChunks == 2 ? 5 : 7;
static_assert(kBlock == kWarp, "a lane holds the sparse data of one nonzero of a block");

template <class Tile>
struct Rode : RodeRow<Tile> {
  using Base = RodeRow<Tile>;
  using Base::sum;
  using typename Base::Entry;
  using typename Base::Row;
  using typename Base::Sum;

  static constexpr int kDepth = 4 / Tile::kChunks;  // nonzeros of a group in a sub-block
  static constexpr int kSubBlock = kDepth * Tile::kGroups;
  static constexpr int kSubBlocks = kBlock / kSubBlock;
  static_assert(kSubBlocks == 1 || kSubBlocks % 2 == 0);

  struct SubBlock {
    Row row[kDepth];
    Sum weight[kDepth];
  };

  __device__ explicit Rode(const SpmmArgs<typename Tile::T>& args) : Base(args) {}

  /// entries: the block that begins at nonzero `block`, of which there are `limit`: past the end the last one
  /// again.
  __device__ void gather(SubBlock& out, const Entry& entries, std::int64_t block, int sub_block,
                         int limit) const {
#pragma unroll
    for (int k = 0; k < kDepth; ++k) {
      const int at = (sub_block * kDepth + k) * Tile::kGroups + this->group;
      const Entry entry = this->from_lane(entries, at);
      out.row[k] = this->row_of_x(entry.col);
      out.weight[k] = this->weight_of(entry, block + (at < limit ? at : limit - 1));
    }
  }
  __device__ void consume(const SubBlock& in) {
#pragma unroll
    for (int k = 0; k < kDepth; ++k) this->add(in.row[k], in.weight[k]);
  }
  __device__ void consume_first(const SubBlock& in, int sub_block, int limit) {
#pragma unroll
    for (int k = 0; k < kDepth; ++k)
      if ((sub_block * kDepth + k) * Tile::kGroups + this->group < limit) this->add(in.row[k], in.weight[k]);
  }

  /// The warp sums the nonzeros of a piece: whole blocks through the pipeline, then the residue. The
  /// sub-blocks in flight swap their registers without moving them.
  __device__ void sum_piece(std::int64_t begin, int length) {
    const int last = length - 1, lane = this->lane;
    const auto fetch_block = [&](int at) { return this->fetch(begin + min(at + lane, last)); };
    Entry now = fetch_block(0), next = fetch_block(kBlock);
    SubBlock a, b;
    gather(a, now, begin, 0, length);
    int at = 0;
    for (; at + kBlock <= length; at += kBlock) {
      if constexpr (kSubBlocks > 1) {
#pragma unroll
        for (int s = 0; s < kSubBlocks; s += 2) {
          gather(b, now, begin + at, s + 1, kBlock);
          consume(a);
          if (s + 2 < kSubBlocks) {
            gather(a, now, begin + at, s + 2, kBlock);
          } else {
            now = next;
            next = fetch_block(at + 2 * kBlock);
            gather(a, now, begin + at + kBlock, 0, length - at - kBlock);
          }
          consume(b);
        }
      } else {
        now = next;
        next = fetch_block(at + 2 * kBlock);
        b = a;
        gather(a, now, begin + at + kBlock, 0, length - at - kBlock);
        consume(b);
      }
    }
    const int residue = length - at;
    if (residue == 0) return;
#pragma unroll
    for (int s = 0; s < kSubBlocks; s += 2) {
      if (s * kSubBlock >= residue) break;
      const bool second = s + 1 < kSubBlocks && (s + 1) * kSubBlock < residue;
      if (second) gather(b, now, begin + at, s + 1, residue);
      consume_first(a, s, residue);
      if (s + 2 < kSubBlocks && (s + 2) * kSubBlock < residue) gather(a, now, begin + at, s + 2, residue);
      if (second) consume_first(b, s + 1, residue);
    }
  }

  /// Every group takes `rounds` short rows. A row begins with a chain of loads (where it is, its columns, its
  /// rows of X): those of the next row are under way while this one is summed.
  __device__ void sum_short_rows(const RodeView& plan, std::int64_t first, int rounds) {
    std::int64_t at = first * Tile::kGroups + this->group;
    const auto part_if = [&](bool exists, std::int64_t i) {
      return exists ? plan.residual(i) : RodeView::Part{};
    };
    RodeView::Part part = plan.residual(at), next = part_if(rounds > 1, at + Tile::kGroups);
    Entry entry = this->first_of_row(part.begin, part.length);
    for (int round = 0; round < rounds; ++round) {
      const RodeView::Part after = part_if(round + 2 < rounds, at + 2 * Tile::kGroups);
      const Entry next_entry = this->first_of_row(next.begin, next.length);
      this->sum_row(part.begin, part.length, entry);
      this->write_y(part.row, at < plan.residuals);
#pragma unroll
      for (int v = 0; v < Tile::kSums; ++v) sum[v] = 0;
      part = next, next = after, entry = next_entry;
      at += Tile::kGroups;
    }
  }
};

// grid (warps / warps of a block, column tiles), block kThreads. Warps [0, pieces) take a piece each, the
// others kGroups rows of the residual part.
template <class Tile>
__global__ void __launch_bounds__(kThreads, kBlocksOfMultiprocessor<Tile>)
    spmm_rode_kernel(const SpmmArgs<typename Tile::T> args, const RodeArgs<typename Tile::Sum> rode,
                     int rounds) {
  Rode<Tile> work(args);
  const std::int64_t warp = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) / kWarp;
  const RodeView& plan = rode.plan;
  if (warp < plan.pieces) {
    const RodeView::Part piece = plan.piece(warp);
    const std::int32_t split = plan.piece_split[warp];
    work.sum_piece(piece.begin, piece.length);
    work.reduce_groups();
    if (work.completes(rode, piece, split)) work.write_y(piece.row, work.group == 0);
  } else {
    work.sum_short_rows(plan, (warp - plan.pieces) * rounds, rounds);
  }
}

/// As many short rows in turn as leave every multiprocessor several times the warps that it holds.
int rounds_for(std::int64_t warps, Device device) {
  constexpr std::int64_t kMostRounds = 4, kWarpsOfMultiprocessor = 64;
  const std::int64_t enough = kWarpsOfMultiprocessor * Context::of(device).num_multiprocessors();
  return static_cast<int>(std::clamp<std::int64_t>(warps / enough, 1, kMostRounds));
}

/// Whether the blocks of spmm_teams_kernel are few enough: one round of them, or up to two and a half where
/// the longest chain is that of a long row.
template <class Tile>
bool teams_pay(const RodePlan& plan, std::int64_t blocks, Device device) {
  const std::int64_t at_once = kTeamBlocks<Tile> * Context::of(device).num_multiprocessors();
  return blocks <= (plan.num_pieces() > 0 ? at_once * 5 / 2 : at_once);
}

/// Rows of X that 16-byte loads cannot read, where teams pay even with tiles of 8 columns: no copy.
template <class T, class F>
bool in_teams_by_elements(const Csr& a, const RodePlan& plan, const Tensor& weight, const Tensor& x,
                          const Tensor& y, std::int64_t blocks, const F& cover) {
  using D = device_t<T>;
  using Weighted = Tile<D, 8, Weighting::kPerEdge, 1, false, 1>;
  const bool per_head = weight.defined() && weight.rank() == 2;
  const std::int64_t heads = per_head ? weight.dim(1) : 1, k = y.numel() / (a.rows * heads);
  const std::int64_t tiles = ceil_div(heads * k, Weighted::kWidth);
  if (rows_are_aligned(x, k) || !teams_pay<Weighted>(plan, blocks * tiles, y.device())) return false;
  const SpmmArgs<D> args = make_args<T>(a, weight, x, k, heads, k, y);
  if (per_head)
    cover(Tile<D, 8, Weighting::kPerHead, 1, false, 1>{}, args, tiles);
  else if (weight.defined())
    cover(Weighted{}, args, tiles);
  else
    cover(Tile<D, 8, Weighting::kNone, 1, false, 1>{}, args, tiles);
  return true;
}

}  // namespace

void spmm_rode(const Csr& a, const RodePlan& plan, Accumulate accumulate, const Tensor& weight,
               const Tensor& x, const Tensor& y) {
  const std::int64_t splits = plan.num_split_rows();
  const bool atomic = accumulate == Accumulate::kAtomic;
  if (atomic && splits > 0) y.fill(0);
  dispatch_float(x.dtype(), "spmm", [&]<class T>(T) {
    if (spmm_tiny<T>(a, plan, weight, x, y)) return;
    const ShortRows rows(plan, kWarp);
    const std::int64_t team_blocks = plan.num_pieces() + ceil_div(rows.warps, kThreads / kWarp);
    const auto cover = [&]<class Tile>(Tile, const auto& args, std::int64_t tiles) {
      using Sum = typename Tile::Sum;
      Tensor partial;
      int* arrived = nullptr;
      if (splits > 0 && !atomic) {
        partial = Tensor::empty({plan.num_slots, args.stride}, dtype_of<Sum>(), y.device());
        arrived = Context::of(y.device()).zeroed_counters(splits * tiles);
      }
      const RodeArgs<Sum> rode{RodeView(plan), partial.defined() ? partial.data<Sum>() : nullptr, arrived};
      const auto run = [&](auto kernel, std::int64_t blocks, const auto& last) {
        const dim3 grid(static_cast<unsigned>(blocks), static_cast<unsigned>(tiles));
        launch("spmm_rode", y.device(), kernel, grid, dim3(kThreads), staging_bytes<Tile>(args, kThreads),
               args, rode, last);
      };
      if (teams_pay<Tile>(plan, team_blocks * tiles, y.device()))
        return run(spmm_teams_kernel<typename Tile::AsRagged>, team_blocks,
                   TeamArgs(rows, a, args.row_bytes, team_blocks * tiles));
      if constexpr (Tile::kVec > 1) {
        const std::int64_t short_warps = ceil_div(plan.num_residual(), Tile::kGroups);
        const int rounds = rounds_for(short_warps * tiles, y.device());
        run(spmm_rode_kernel<Tile>,
            ceil_div(plan.num_pieces() + ceil_div(short_warps, rounds), kThreads / kWarp), rounds);
      }
    };
    if (!in_teams_by_elements<T>(a, plan, weight, x, y, team_blocks, cover))
      dispatch_tile<T, true>(a, weight, x, y, cover);
  });
}

}  // namespace rodeo::kernels::cuda
