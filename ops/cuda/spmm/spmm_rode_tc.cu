// Y = A X by the plan and the pipeline of RoDe, summed by tensor cores (RoDe-TC).
//
// A row's nonzeros are the right operand of an MMA and the gathered elements of X the left one. The diagonal
// blocks of the product are outputs, as in TCA-SpMM, which transposes X in shared memory. Here a lane finds
// its part of the left operand in its own 16-byte loads (mma_accumulator.cuh), so the loads are those of RoDe
// (rode_warp.cuh): an MMA takes 16 nonzeros of a piece, or 4 of each of four residual rows.
#include "ops/cuda/rode/rode_warp.cuh"
#include "ops/cuda/spmm/mma_accumulator.cuh"

namespace rodeo::kernels::cuda {
namespace {

template <class Tile>  // weights take registers
constexpr int kBlocksPerMultiprocessor = Tile::kWeighting == Weighting::kNone ? 6 : 5;

template <class Tile>
__global__ void __launch_bounds__(kRodeThreads, kBlocksPerMultiprocessor<Tile>)
    spmm_rode_tc_kernel(const SpmmArgs<typename Tile::T> args, const RodeArgs<float> rode, int rounds) {
  run_rode<MmaAccumulator<Tile>>(args, rode, rounds);
}

}  // namespace

void spmm_rode_tc(const Csr& a, const RodePlan& plan, const Tensor& weight, const Tensor& x,
                  const Tensor& y) {
  const Device device = y.device();
  const SpmmSizes sizes = spmm_sizes(a, weight, x, y);
  const SpmmConfig config = choose_rode_tc_config(sizes, rode_sizes(plan), Context::of(device).properties());
  const Tensor rows = config.copies_x ? PaddedRows(x, sizes.heads, sizes.k).x : x;
  dispatch_float(x.dtype(), "spmm", [&]<class Host>(Host) {
    using T = device_t<Host>;
    SpmmArgs<T> args = make_spmm_args<T>(a, weight, rows, sizes, config.pitch, y);
    for (const SpmmLaunch& l : config.launches()) {
      args.first = l.first_column;
      dispatch_tile<SpmmKernel::kTensorCores, T>(l.tile, sizes.weighting, [&]<class Tile>(Tile) {
        std::optional<Scratch> partial;
        const auto rode = make_rode_args<Tile>(plan, args, l.tiles, device, true, partial);
        launch_rode<Tile>("spmm_rode_tc", spmm_rode_tc_kernel<Tile>, plan, args, rode, l, device);
      });
    }
  });
}

}  // namespace rodeo::kernels::cuda
