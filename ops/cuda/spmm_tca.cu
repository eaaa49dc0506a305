// Y = A X on tensor cores from plain CSR (TCA-SpMM), in one launch.
//
// A row's nonzeros are the right operand of mma.m16n8k8, column by column; gathered elements of one column of
// X are rows of the left operand; the sum of the diagonal of each 8 x 8 block of the product is an output
// (ops/tca_map.h). Chunks of 64 nonzeros add up in the same accumulators; the diagonal is taken once, at the
// end. The paper passes X through a transposing buffer in shared memory. Here the order of the nonzeros and
// of the columns is chosen such that a lane finds its part of the left operand in its own 16-byte loads (rows
// of up to 16 nonzeros), or after a swap of registers within its quad. Only the diagonal goes through shared
// memory, to be written side by side. Lanes hold the sparse row, so warps share nothing: the paper's teams of
// 8 warps are spread over blocks of 4, three of which fit a multiprocessor.
#include <limits>

#include "ops/cuda/spmm_tca.cuh"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kWarps = kThreads / kWarp;
// Blocks of a multiprocessor: 3 leave 168 registers a thread, 4 leave 128, of which some spill. Long rows
// want more warps to wait for memory, short ones more registers.
constexpr int kBlocksForShortRows = 3, kBlocksForLongRows = 4;
constexpr std::int64_t kLongRow = TcaPlan::kChunk;  // mean nonzeros

// grid (warps / kWarps), block kThreads. multiblock_per_row is the first group's jobs that are pieces, the
// others are multirow_per_block.
template <class T, bool kWeighted, int kBlocks>
__global__ void __launch_bounds__(kThreads, kBlocks)
    spmm_tca_kernel(const SpmmArgs<T> args, const TcaArgs tca) {
  __shared__ TcaScratch<T> scratch[kWarps];
  const int warp_of_block = __shfl_sync(kFullMask, threadIdx.x / kWarp, 0);
  const unsigned warp = blockIdx.x * kWarps + warp_of_block;
  const auto run = [&]<int kSubRows>(const TcaGroup& group) {
    const unsigned at = warp - group.first_warp;  // wraps around for the groups behind
    if (at < group.warps_of_tile * group.tiles)
      TcaWarp<T, kSubRows, kWeighted>(args, tca, group, at, scratch[warp_of_block]).run();
  };
  run.template operator()<8>(tca.group[0]);
  run.template operator()<4>(tca.group[1]);
  run.template operator()<2>(tca.group[2]);
  run.template operator()<1>(tca.group[3]);
}

template <class T, bool kWeighted, int kBlocks>
void run(const Csr& a, const TcaPlan& plan, const Tensor& weight, const Tensor& x, const Tensor& y) {
  using D = device_t<T>;
  const PaddedRows padded(x, 1, x.dim(1));
  const SpmmArgs<D> args = make_args<T>(a, weight, padded.x, padded.pitch, 1, x.dim(1), y);
  constexpr std::int64_t kMax = std::numeric_limits<std::int32_t>::max();  // warps, in 32 bits
  TcaArgs tca{plan.job_row.data<std::int32_t>(),
              plan.job_length.data<std::int32_t>(),
              plan.job_split.data<std::int32_t>(),
              plan.job_begin.data<std::int64_t>(),
              plan.split_slot.data<std::int64_t>(),
              plan.group_begin[1],
              args.row_bytes,
              nullptr,
              nullptr,
              {}};
  std::int64_t warps = 0;
  for (int i = 0; i < 4; ++i) {
    const int sub_rows = 8 >> i;
    const std::int64_t first = i == 0 ? 0 : plan.group_begin[i + 1], jobs = plan.group_begin[i + 2] - first;
    const std::int64_t width = TcaWarp<D, 8, kWeighted>::kWidth * (8 / sub_rows);
    const std::int64_t warps_of_tile = ceil_div(jobs, tca_batch(sub_rows)),
                       tiles = ceil_div(args.stride, width);
    tca.group[i] = {first, jobs, static_cast<unsigned>(warps), static_cast<unsigned>(warps_of_tile),
                    static_cast<unsigned>(tiles)};
    warps += warps_of_tile * tiles;
  }
  check(warps <= kMax, "[spmm] tca takes up to ", kMax, " warps, ", a.rows, " rows of ", x.dim(1),
        " columns need ", warps);
  Tensor partial, arrived;
  if (plan.num_split_rows() > 0) {
    partial = Tensor::empty({plan.num_slots, args.stride}, DType::kF32, y.device());
    arrived = Tensor::zeros({plan.num_split_rows(), tca.group[0].tiles}, DType::kI32, y.device());
    tca.partial = partial.data<float>();
    tca.arrived = arrived.data<std::int32_t>();
  }
  launch("spmm_tca", y.device(), spmm_tca_kernel<D, kWeighted, kBlocks>,
         dim3(static_cast<unsigned>(ceil_div(warps, kWarps))), dim3(kThreads), 0, args, tca);
}

}  // namespace

void spmm_tca(const Csr& a, const TcaPlan& plan, const Tensor& weight, const Tensor& x, const Tensor& y) {
  dispatch_float(x.dtype(), "spmm", [&]<class T>(T) {
    if constexpr (!std::is_same_v<T, double>) {
      const auto with_blocks = [&]<int kBlocks>() {
        (weight.defined() ? run<T, true, kBlocks> : run<T, false, kBlocks>)(a, plan, weight, x, y);
      };
      if (a.col.numel() >= kLongRow * a.rows)
        with_blocks.template operator()<kBlocksForLongRows>();
      else
        with_blocks.template operator()<kBlocksForShortRows>();
    }
  });
}

}  // namespace rodeo::kernels::cuda
