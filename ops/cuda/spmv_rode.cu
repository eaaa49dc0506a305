// y = A x by RoDe's decomposition (ops/rode_plan.h), in one launch: a lane takes a nonzero at a time, a warp
// a piece, and a short row as few lanes as hold its nonzeros in two turns. The pieces of a split row leave
// their sums in a workspace; the warp that finishes last adds them in order.
#include "ops/cuda/pack.cuh"
#include "ops/cuda/rode_view.cuh"
#include "ops/cuda/short_rows.cuh"
#include "ops/kernels.h"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kInFlight = 8;       // nonzeros of a lane of a piece
constexpr int kShortInFlight = 2;  // of a short row

template <class T, class Sum>
struct SpmvArgs {
  RodeView plan;
  const std::int64_t* row_ptr;
  const std::int32_t* col;
  const T *weight, *x;  // weight may be null
  T* y;
  Sum* partial;  // [slots]
  int* arrived;  // [split rows], zero, and left so
};

/// The sum of the nonzeros [begin, begin + length), lanes in turn, in each of `lanes` lanes.
template <int kDepth, class T, class Sum>
__device__ Sum sum_of(const SpmvArgs<T, Sum>& args, std::int64_t begin, int length, int place, int lanes) {
  const std::int32_t* col = args.col + begin;
  Sum sum = 0;
  for (int at = place; at < length; at += kDepth * lanes) {
    std::int32_t source[kDepth];
    Sum term[kDepth];
#pragma unroll
    for (int d = 0; d < kDepth; ++d) source[d] = at + d * lanes < length ? __ldcs(col + at + d * lanes) : -1;
#pragma unroll
    for (int d = 0; d < kDepth; ++d) {
      term[d] = 0;
      if (source[d] < 0) continue;
      term[d] = widen(__ldg(args.x + source[d]));
      if (args.weight) term[d] *= widen(__ldcs(args.weight + begin + at + d * lanes));
    }
#pragma unroll
    for (int d = 0; d < kDepth; ++d) sum += term[d];
  }
  __syncwarp();  // rows of a warp differ in length; from here on its lanes work together
  for (int offset = lanes / 2; offset > 0; offset /= 2) sum += __shfl_xor_sync(kFullMask, sum, offset);
  return sum;
}

/// Leaves a piece's sum; true for the warp that finds all others done, which then has the row's.
template <class T, class Sum>
__device__ bool combine(const SpmvArgs<T, Sum>& args, int split, std::int64_t index, int lane, Sum& sum) {
  Sum* const slot = args.partial + args.plan.split_slot[split];
  const auto count = static_cast<int>(args.plan.split_slot[split + 1] - args.plan.split_slot[split]);
  int before = 0;
  if (lane == 0) {
    slot[index] = sum;
    __threadfence();
    before = atomicAdd(args.arrived + split, 1);
    if (before == count - 1) args.arrived[split] = 0;  // for the next launch
  }
  if (__shfl_sync(kFullMask, before, 0) != count - 1) return false;
  __threadfence();
  sum = 0;
  for (int i = lane; i < count; i += kWarp) sum += __ldcg(slot + i);  // from L2: other SMs wrote it
  for (int offset = kWarp / 2; offset > 0; offset /= 2) sum += __shfl_xor_sync(kFullMask, sum, offset);
  return true;
}

// grid warps / warps of a block, block kThreads. Warps [0, pieces) take a piece each, the others short rows.
template <class T, class Sum>
__global__ void __launch_bounds__(kThreads)
    spmv_rode_kernel(const SpmvArgs<T, Sum> args, const ShortRows rows) {
  const std::int64_t warp = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) / kWarp;
  const int lane = threadIdx.x % kWarp;
  const RodeView& plan = args.plan;
  if (warp < plan.pieces) {
    const RodeView::Part piece = plan.piece(warp);
    const std::int32_t split = plan.piece_split[warp];
    Sum sum = sum_of<kInFlight>(args, piece.begin, piece.length, lane, kWarp);
    const bool complete = split < 0 || combine(args, split, plan.index_of(piece, args.row_ptr), lane, sum);
    if (complete && lane == 0) args.y[piece.row] = static_cast<T>(sum);
  } else {
    const ShortRows::Teams teams = rows.of_warp(static_cast<std::uint32_t>(warp - plan.pieces));
    const std::uint32_t at = teams.first + static_cast<std::uint32_t>(lane / teams.lanes);
    const bool exists = at < teams.end;
    const RodeView::Part part = exists ? plan.residual(at) : RodeView::Part{};
    const int place = lane % teams.lanes;
    const Sum sum = sum_of<kShortInFlight>(args, part.begin, part.length, place, teams.lanes);
    if (exists && place == 0) args.y[part.row] = static_cast<T>(sum);
  }
}

}  // namespace

void spmv_rode(const Csr& a, const RodePlan& plan, const Tensor& weight, const Tensor& x, const Tensor& y) {
  dispatch_float(x.dtype(), "spmv", [&]<class Host>(Host) {
    using T = device_t<Host>;
    using Sum = Accumulator<T>;
    SpmvArgs<T, Sum> args{.plan = RodeView(plan)};
    args.row_ptr = a.row_ptr.data<std::int64_t>();
    args.col = a.col.data<std::int32_t>();
    args.weight = static_cast<const T*>(weight.raw());
    args.x = static_cast<const T*>(x.raw());
    args.y = static_cast<T*>(y.raw());
    Tensor partial;
    if (plan.num_split_rows() > 0) {
      partial = Tensor::empty({plan.num_slots}, dtype_of<Sum>(), y.device());
      args.partial = static_cast<Sum*>(partial.raw());
      args.arrived = Context::of(y.device()).zeroed_counters(plan.num_split_rows());
    }
    const ShortRows rows(plan, kWarp / kShortInFlight);
    const std::int64_t warps = plan.num_pieces() + rows.warps;
    launch("spmv_rode", y.device(), spmv_rode_kernel<T, Sum>,
           dim3(static_cast<unsigned>(ceil_div(warps, kThreads / kWarp))), dim3(kThreads), 0, args, rows);
  });
}

}  // namespace rodeo::kernels::cuda
