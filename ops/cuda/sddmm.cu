// s[e, h] = weight[e] <b1[row(e), h], b2[col(e), h]> over the pieces and short rows of RoDe's decomposition.
//
// A group of lanes covers one head of a row, 16 bytes a lane and chunk; groups side by side take the heads of
// an edge, and a team of them takes one edge. The row of b1 stays in registers for a whole piece. A lane adds
// up its part of the dots of several edges; the parts are then transposed while they are summed: with every
// exchange a lane gives away half of its edges and receives the other half of what it keeps, so that 8 dots
// over 8 lanes cost 7 shuffles, not 24, and end one to a lane, ready for a coalesced store. While the dots of
// a step are computed, the rows of b2 for the next are on their way, as are the column indices of the next
// batch. Where b2 is larger than the L2, but a slice of its columns is not, the slices are launched one after
// the other and the dots are carried in memory.
#include <algorithm>
#include <bit>

#include "ops/cuda/gather.cuh"
#include "ops/cuda/rode_view.cuh"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kBytes = 16;          // of a chunk
constexpr int kLoadsOfStep = 4;     // of 16 bytes, by a lane; two steps are in flight
constexpr int kLongestSlice = 128;  // chunks: what the largest configuration covers

/// kLanes lanes cover a head, each with kChunks chunks. A batch is what a group does before it stores.
template <class T_, int kLanes_, int kChunks_>
struct DotTile {
  using T = T_;
  using Sum = Accumulator<T>;
  static constexpr int kVec = kBytes / sizeof(T), kLanes = kLanes_, kChunks = kChunks_;
  static constexpr int kGroups = kWarp / kLanes;
  static constexpr int kEdges = 8;                                 // of a batch, for a group
  static constexpr int kUnit = kLanes < kEdges ? kLanes : kEdges;  // of them side by side
  static constexpr int kResults = kEdges / kUnit;                  // dots that a lane ends with
  static constexpr int kDepth = kLoadsOfStep / kChunks;            // edges of a step
  static constexpr int kSteps = kEdges / kDepth;
  using Chunk = Pack<T, kVec>;
  static_assert(kSteps % 2 == 0, "the two steps in flight swap their registers without moving them");
};

template <class T, class Sum>
struct DotArgs {
  RodeView rode;
  const std::int32_t* col;
  const T *b1, *b2, *weight;  // weight may be null
  std::int64_t k, row_of_b1;  // elements of a head of b1, and from a row to the next
  std::int64_t head_of_b2;    // elements from a head of b2 to the next
  std::uint32_t row_of_b2;    // bytes from a row to the next
  std::int64_t first;         // element of a head where the slice begins
  int chunks;                 // of the slice, at most kLanes * kChunks
  int heads, warp_heads;      // all, and those that a warp does side by side
  bool wide_b1;               // b1 can be read in chunks
  const Sum* before;          // [edges, heads] dots of the slices before, or null
  Sum* partial;               // where the dots go if slices follow, or null
  T* out;                     // [edges, heads]
};

template <class Tile>
struct Dot {
  using T = typename Tile::T;
  using Sum = typename Tile::Sum;
  using Chunk = typename Tile::Chunk;
  static constexpr int kLanes = Tile::kLanes, kChunks = Tile::kChunks, kEdges = Tile::kEdges;

  const DotArgs<T, Sum>& args;
  const int lane = threadIdx.x % kWarp;
  const int group = lane / kLanes, member = lane % kLanes;
  const int teams = Tile::kGroups / args.warp_heads, team = group / args.warp_heads;
  const int head = blockIdx.y * args.warp_heads + group % args.warp_heads;
  const bool exists = team < teams && head < args.heads;

  // The hot loop loads without conditions, so that nothing waits for a load before its value is used: past
  // the end the last edge again, in a group without work edge 0, for a chunk that does not exist the last
  // one.
  int length = 0;                      // edges of the row, or the part of it, that this group has
  const std::int32_t* col = args.col;  // of its first edge
  std::int64_t first_edge = 0;
  const char* b2[kChunks];  // this lane's chunks of row 0
  bool active[kChunks];     // false for a chunk that the slice does not have
  Sum own[kChunks][Tile::kVec] = {};

  // Raw until they are used: unpacked, 16-bit elements would take twice the registers.
  struct Step {
    uint4 row[Tile::kDepth][kChunks];
  };
  struct Columns {
    std::int32_t value[Tile::kResults];
  };

  __device__ explicit Dot(const DotArgs<T, Sum>& a) : args(a) {
    const auto* first = reinterpret_cast<const char*>(a.b2 + (exists ? head : 0) * a.head_of_b2 + a.first);
#pragma unroll
    for (int c = 0; c < kChunks; ++c) {
      const int chunk = member + c * kLanes;
      active[c] = chunk < a.chunks;
      b2[c] = first + min(chunk, a.chunks - 1) * kBytes;
    }
  }

  /// Takes the edges of a part of a row, and its row of b1.
  __device__ void take_row(const RodeView::Part& part) {
    if (!exists || part.length == 0) return;
    length = part.length;
    first_edge = part.begin;
    col = args.col + part.begin;
    const T* head_of_b1 = args.b1 + part.row * args.row_of_b1 + head * args.k;
#pragma unroll
    for (int c = 0; c < kChunks; ++c) {
      const std::int64_t column = args.first + (member + c * kLanes) * Tile::kVec;
      if (!active[c]) continue;
      if (args.wide_b1) {
        const Chunk chunk = *reinterpret_cast<const Chunk*>(head_of_b1 + column);
#pragma unroll
        for (int v = 0; v < Tile::kVec; ++v) own[c][v] = widen(chunk.value[v]);
      } else {
#pragma unroll
        for (int v = 0; v < Tile::kVec; ++v)
          if (column + v < args.k) own[c][v] = widen(head_of_b1[column + v]);
      }
    }
  }

  /// The columns of a batch: each edge's is held by the lane that stores its dot. Past the end, the last one.
  __device__ Columns fetch(int at, int span) const {
    const int last = length > 0 ? length - 1 : 0;
    Columns out;
#pragma unroll
    for (int r = 0; r < Tile::kResults; ++r)
      out.value[r] = load_once(col + min(at + r * span + member % Tile::kUnit, last));
    return out;
  }
  __device__ void gather(Step& out, const Columns& columns, int step) const {
#pragma unroll
    for (int d = 0; d < Tile::kDepth; ++d) {
      const int edge = step * Tile::kDepth + d;
      const auto column = static_cast<std::uint32_t>(
          __shfl_sync(kFullMask, columns.value[edge / Tile::kUnit], edge % Tile::kUnit, kLanes));
      const std::uint64_t row = column * static_cast<std::uint64_t>(args.row_of_b2);
#pragma unroll
      for (int c = 0; c < kChunks; ++c) out.row[d][c] = *reinterpret_cast<const uint4*>(b2[c] + row);
    }
  }
  __device__ Sum multiply(const uint4 (&row)[kChunks]) const {
    Sum sum = 0;
#pragma unroll
    for (int c = 0; c < kChunks; ++c) {
      const auto chunk = std::bit_cast<Chunk>(row[c]);
      Sum part = 0;
#pragma unroll
      for (int v = 0; v < Tile::kVec; ++v) part += own[c][v] * widen(chunk.value[v]);
      if (!active[c]) part = 0;  // own is 0, but the row may be infinite
      sum = c == 0 ? part : sum + part;
    }
    return sum;
  }
  /// From a part of every dot to all of kResults dots. The order of the sum is the same for every edge.
  __device__ void reduce(Sum (&value)[kEdges]) const {
#pragma unroll
    for (int offset = 1; offset < kLanes; offset *= 2) {
      if (offset < kEdges) {
        const bool upper = member & offset;
#pragma unroll
        for (int i = 0; i < kEdges / (2 * offset); ++i) {
          const Sum low = value[2 * i], high = value[2 * i + 1];
          value[i] = (upper ? high : low) + __shfl_xor_sync(kFullMask, upper ? low : high, offset);
        }
      } else {
        value[0] += __shfl_xor_sync(kFullMask, value[0], offset);
      }
    }
  }
  /// f(edge of the row, result) for the dots of a batch that this lane stores.
  template <class F>
  __device__ void for_own_dots(int at, int span, F&& f) const {
#pragma unroll
    for (int r = 0; r < Tile::kResults; ++r) {
      const int edge = at + r * span + member;
      if (member < kEdges && edge < length) f(edge, r);
    }
  }

  /// The group's edges of a batch: kUnit from `at`, as many from at + span, ... Batches are `stride` apart.
  __device__ void run(int at, int span) {
    bool more = __any_sync(kFullMask, at < length);
    if (!more) return;
    const int stride = Tile::kResults * span;
    const std::int64_t to = first_edge * args.heads + head;
    Columns now = fetch(at, span), next = fetch(at + stride, span);
    Step ready;
    gather(ready, now, 0);
    for (; more; at += stride) {
      more = __any_sync(kFullMask, at + stride < length);
      Sum before[Tile::kResults] = {};
      if (args.before)
        for_own_dots(at, span, [&](int edge, int r) {
          before[r] = load_once(args.before + to + edge * static_cast<std::int64_t>(args.heads));
        });
      Sum value[kEdges];
#pragma unroll
      for (int step = 0; step < Tile::kSteps; ++step) {
        Step coming;
        if (step + 1 < Tile::kSteps) {
          gather(coming, now, step + 1);
        } else if (more) {
          now = next;
          next = fetch(at + 2 * stride, span);
          gather(coming, now, 0);
        }
#pragma unroll
        for (int d = 0; d < Tile::kDepth; ++d) value[step * Tile::kDepth + d] = multiply(ready.row[d]);
        ready = coming;
      }
      reduce(value);
      for_own_dots(at, span, [&](int edge, int r) {
        const Sum sum = before[r] + value[r];
        const std::int64_t place = to + edge * static_cast<std::int64_t>(args.heads);
        if (args.partial)
          __stcs(args.partial + place, sum);
        else if (args.weight)
          __stcs(args.out + place, static_cast<T>(widen(load_once(args.weight + first_edge + edge)) * sum));
        else
          __stcs(args.out + place, static_cast<T>(sum));
      });
    }
  }
};

// grid (warps / warps of a block, heads / heads of a warp), block kThreads. Warps [0, pieces) take a piece
// each, all teams of a warp together; the others take a short row for every team.
template <class Tile>
__global__ void __launch_bounds__(kThreads)
    sddmm_kernel(const DotArgs<typename Tile::T, typename Tile::Sum> args) {
  Dot<Tile> dot(args);
  const std::int64_t warp = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) / kWarp;
  if (warp < args.rode.pieces) {
    dot.take_row(args.rode.piece(warp));
    dot.run(dot.team * Tile::kUnit, dot.teams * Tile::kUnit);
  } else {
    dot.take_row(args.rode.residual((warp - args.rode.pieces) * dot.teams + dot.team));
    dot.run(0, Tile::kUnit);
  }
}

/// Chunks of a slice: the whole head where the L2 holds b2, or where it would not even hold the narrowest
/// slice: a random access to DRAM is the cheaper the longer it is. Heads are slices already.
std::int64_t slice_chunks(const Tensor& b2, std::int64_t cols, std::int64_t heads, std::int64_t chunks) {
  const auto l2 = static_cast<std::int64_t>(Context::of(b2.device()).l2_bytes());
  if (heads == 1 && b2.nbytes() > l2)
    for (const std::int64_t width : {16, 8})
      if (cols * width * kBytes <= l2) return std::min(width, chunks);
  return ceil_div(chunks, ceil_div(chunks, kLongestSlice));
}

template <class Tile>
void launch_slice(DotArgs<typename Tile::T, typename Tile::Sum> args, Device device) {
  const std::int64_t head_blocks = ceil_div(args.heads, Tile::kGroups);
  args.warp_heads = static_cast<int>(ceil_div(args.heads, head_blocks));
  const std::int64_t warps =
      args.rode.pieces + ceil_div(args.rode.residuals, Tile::kGroups / args.warp_heads);
  const dim3 grid(static_cast<unsigned>(ceil_div(warps, kThreads / kWarp)),
                  static_cast<unsigned>(head_blocks));
  launch("sddmm", device, sddmm_kernel<Tile>, grid, dim3(kThreads), 0, args);
}

template <class T, class Sum>
void launch_slice(const DotArgs<T, Sum>& args, Device device) {
  if (args.chunks <= 2)
    launch_slice<DotTile<T, 2, 1>>(args, device);
  else if (args.chunks <= 4)
    launch_slice<DotTile<T, 4, 1>>(args, device);
  else if (args.chunks <= 8)
    launch_slice<DotTile<T, 8, 1>>(args, device);
  else if (args.chunks <= 16)
    launch_slice<DotTile<T, 8, 2>>(args, device);
  else if (args.chunks <= 32)
    launch_slice<DotTile<T, 32, 1>>(args, device);
  else if (args.chunks <= 64)
    launch_slice<DotTile<T, 32, 2>>(args, device);
  else
    launch_slice<DotTile<T, 32, 4>>(args, device);
}

}  // namespace

void sddmm_dot(const Adjacency& adj, const Tensor& weight, const Tensor& b1, const Tensor& b2,
               const Tensor& out) {
  const RodePlan& plan = rodeo::rode_plan(adj);
  dispatch_float(b1.dtype(), "sddmm", [&]<class Host>(Host) {
    using T = device_t<Host>;
    using Sum = Accumulator<T>;
    constexpr std::int64_t kVec = kBytes / sizeof(T);
    const std::int64_t heads = b1.dim(1), k = b1.dim(2), chunks = ceil_div(k, kVec);
    const PaddedRows padded(b2, heads, k);
    const std::int64_t width = slice_chunks(padded.x, adj.cols(), heads, chunks);
    Tensor partial;  // 16-bit types carry the dots between slices in f32
    if (width < chunks)
      partial =
          out.dtype() == dtype_of<Sum>() ? out : Tensor::empty(out.shape(), dtype_of<Sum>(), out.device());
    for (std::int64_t first = 0; first < chunks; first += width) {
      DotArgs<T, Sum> args{.rode = RodeView(plan)};
      args.col = adj.csr().col.data<std::int32_t>();
      args.b1 = static_cast<const T*>(b1.raw());
      args.b2 = static_cast<const T*>(padded.x.raw());
      args.weight = static_cast<const T*>(weight.raw());
      args.k = k;
      args.row_of_b1 = heads * k;
      args.head_of_b2 = padded.pitch;
      args.row_of_b2 = static_cast<std::uint32_t>(heads * padded.pitch * sizeof(T));
      args.first = first * kVec;
      args.chunks = static_cast<int>(std::min(width, chunks - first));
      args.heads = static_cast<int>(heads);
      args.wide_b1 = k % kVec == 0 && is_aligned(b1);
      args.before = first > 0 ? static_cast<const Sum*>(partial.raw()) : nullptr;
      args.partial = first + width < chunks ? static_cast<Sum*>(partial.raw()) : nullptr;
      args.out = static_cast<T*>(out.raw());
      launch_slice(args, out.device());
    }
  });
}

}  // namespace rodeo::kernels::cuda
