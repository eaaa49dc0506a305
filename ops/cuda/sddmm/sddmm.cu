// s[e, h] = weight[e] <b1[row(e), h], b2[col(e), h]>, in one of two orders of edges (a batch of them:
// sddmm.cuh). The caller says which (ops/sddmm_tuner.h).
//
// kRows: over the pieces and residual rows of RoDe's plan, in its order of clusters, with the row of b1 in
// registers.
// kEdges, for short rows: a warp takes consecutive edges, whatever their rows, and reads b1 as it reads
// b2, though mostly from the L1. There is no work per row, all warps have the same work, and the rows of b1
// and b2 depend on one load, not two.
//
// Where b2 exceeds the L2 but a slice of its columns does not, one launch per slice adds to the dots of the
// slices before, which are kept in memory.
#include <algorithm>
#include <optional>

#include "ops/cuda/device/l2_prefetch.cuh"
#include "ops/cuda/sddmm/sddmm.cuh"
#include "ops/plan/sddmm_config.h"
#include "ops/sparse/graph_plans.h"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kMaxBatches = 8;  // of a warp by edges
template <class Tile>           // more warps hide latency better than more registers do
constexpr int kBlocksPerMultiprocessor = Tile::kByEdges || Tile::kChunks == 4 ? 5
                                         : Tile::kChunks == 1                 ? 8
                                                                              : 7;

// grid (warps / warps of a block, heads / heads of a warp), block kThreads. Warps [0, pieces) take a piece
// each, all teams of a warp together; the others a residual row per team.
template <class Tile>
__global__ void __launch_bounds__(kThreads, kBlocksPerMultiprocessor<Tile>)
    sddmm_rows_kernel(const DotArgs<typename Tile::T, typename Tile::Sum> args, const RodeView rode) {
  Dot<Tile> dot(args);
  const std::int64_t warp = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) / kWarp;
  if (warp < rode.pieces) {
    dot.take_row(rode.piece(warp));
    dot.run(dot.team * Tile::kUnit, dot.teams * Tile::kUnit);
  } else {
    dot.take_row(rode.residual((warp - rode.pieces) * dot.teams + dot.team));
    dot.run(0, Tile::kUnit);
  }
}

// grid (warps / warps of a block, heads / heads of a warp), block kThreads. A warp takes edges_of_warp edges.
template <class Tile>
__global__ void __launch_bounds__(kThreads, kBlocksPerMultiprocessor<Tile>)
    sddmm_edges_kernel(const DotArgs<typename Tile::T, typename Tile::Sum> args, std::int64_t edges,
                       int edges_of_warp, const L2Prefetch prefetch) {
  prefetch(kThreads);
  Dot<Tile> dot(args);
  const std::int64_t warp = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) / kWarp;
  const std::int64_t first = warp * edges_of_warp;
  dot.take_edges(first, static_cast<int>(min(edges - first, static_cast<std::int64_t>(edges_of_warp))));
  dot.run(dot.team * Tile::kUnit, dot.teams * Tile::kUnit);
}

template <class Tile>
void launch_tile(DotArgs<typename Tile::T, typename Tile::Sum> args, const Adjacency& adj, Device device) {
  const std::int64_t head_blocks = ceil_div(args.heads, Tile::kGroups);
  args.warp_heads = static_cast<int>(ceil_div(args.heads, head_blocks));
  const int teams = Tile::kGroups / args.warp_heads;
  const auto grid = [&](std::int64_t warps) {
    return dim3(static_cast<unsigned>(ceil_div(warps, kThreads / kWarp)), static_cast<unsigned>(head_blocks));
  };
  if constexpr (Tile::kByEdges) {
    const std::int64_t edges = adj.num_edges();
    const int batch = Tile::kEdges * teams,
              share = batch *
                      rounds_for(edges * head_blocks / batch, kMaxBatches, Context::of(device).properties());
    const dim3 blocks = grid(ceil_div(edges, share));
    const L2Prefetch prefetch(args.b1, adj.rows() * args.b1_row_bytes, args.b2,
                              adj.cols() * args.b2_row_bytes, std::int64_t{blocks.x} * blocks.y * kThreads);
    launch("sddmm", device, sddmm_edges_kernel<Tile>, blocks, dim3(kThreads), 0, args, edges, share,
           prefetch);
  } else {
    const RodeView rode(rode_plan(adj));
    launch("sddmm", device, sddmm_rows_kernel<Tile>, grid(rode.pieces + ceil_div(rode.residuals, teams)),
           dim3(kThreads), 0, args, rode);
  }
}

/// One launch with the template case for args.chunks (kSddmmCases).
template <class T, class Sum>
void launch_slice(const DotArgs<T, Sum>& args, const Adjacency& adj, const SddmmConfig& config,
                  Device device) {
  const SddmmTile tile = choose_sddmm_tile(args.chunks, sizeof(T), config.on_mesh);
  const auto try_case = [&]<std::size_t kCase>() {
    constexpr SddmmCase kCandidate = kSddmmCases[kCase];
    constexpr SddmmTile kTile = kCandidate.tile;
    if constexpr (sizeof(T) <= 4 || kCandidate.f64) {
      if (kTile != tile) return;
      if (config.algorithm == SddmmAlgorithm::kRows)
        launch_tile<DotTile<T, kTile.lanes, kTile.chunks, false>>(args, adj, device);
      else if constexpr (!kCandidate.mesh)
        launch_tile<DotTile<T, kTile.lanes, kTile.chunks, true>>(args, adj, device);
    }
  };
  [&]<std::size_t... kCase>(std::index_sequence<kCase...>) {
    (try_case.template operator()<kCase>(), ...);
  }
  (std::make_index_sequence<std::size(kSddmmCases)>{});
}

}  // namespace

void sddmm_dot(const Adjacency& adj, const Tensor& weight, const Tensor& b1, const Tensor& b2,
               SddmmAlgorithm algorithm, const Tensor& out) {
  const std::int64_t heads = b1.dim(1), k = b1.dim(2);
  const PaddedRows padded(b2, heads, k);
  const bool b1_is_aligned = rows_are_aligned(b1, k);
  const SddmmConfig config = choose_sddmm_config({.cols = adj.cols(),
                                                  .heads = heads,
                                                  .k = k,
                                                  .element_bytes = size_of(b1.dtype()),
                                                  .pitch = padded.pitch,
                                                  .reuse = row_locality(adj).reused_fraction()},
                                                 algorithm, Context::of(b1.device()).properties());
  const bool by_edges = config.algorithm == SddmmAlgorithm::kEdges;
  std::optional<PaddedRows> padded_b1;  // by edges b1 is read 16 bytes at a time, as b2 is
  if (by_edges) padded_b1.emplace(b1, heads, k);
  const std::int64_t b1_pitch = padded_b1 ? padded_b1->pitch : k;
  dispatch_float(b1.dtype(), "sddmm", [&]<class Host>(Host) {
    using T = device_t<Host>;
    using Sum = Accumulator<T>;
    constexpr std::int64_t kVec = kChunkBytes / sizeof(T);
    Tensor partial;  // the dots of the slices before; of 16-bit types in f32
    if (config.has_slices())
      partial =
          out.dtype() == dtype_of<Sum>() ? out : Tensor::empty(out.shape(), dtype_of<Sum>(), out.device());
    for (std::int64_t first = 0; first < config.chunks; first += config.slice_chunks) {
      const std::int64_t left = config.chunks - first;
      DotArgs<T, Sum> args{};
      args.col = adj.csr().col.data<std::int32_t>();
      if (by_edges) args.row = cached_edge_rows(adj).data<std::int32_t>();
      args.b1 = device_data<T>(padded_b1 ? padded_b1->x : b1);
      args.b2 = device_data<T>(padded.x);
      args.weight = device_data<T>(weight);
      args.k = b1_pitch;
      args.b2_pitch = padded.pitch;
      args.b1_row_bytes = static_cast<std::uint32_t>(heads * b1_pitch * sizeof(T));
      args.b2_row_bytes = static_cast<std::uint32_t>(heads * padded.pitch * sizeof(T));
      args.first = first * kVec;
      args.chunks = static_cast<int>(std::min(config.slice_chunks, left));
      args.heads = static_cast<int>(heads);
      args.b1_is_aligned = by_edges || b1_is_aligned;
      args.before = first > 0 ? static_cast<const Sum*>(partial.raw()) : nullptr;
      args.partial = config.slice_chunks < left ? static_cast<Sum*>(partial.raw()) : nullptr;
      args.out = device_data<T>(out);
      launch_slice(args, adj, config, out.device());
    }
  });
}

}  // namespace rodeo::kernels::cuda
