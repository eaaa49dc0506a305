// Y = A X on tensor cores from plain CSR (TCA-SpMM), in one launch, or two where a narrow column tile is
// left.
//
// A row's nonzeros are the right operand of an MMA; gathered elements of X are rows of the left operand; the
// blocks on the diagonal of the product are outputs. The paper passes X through a transposing buffer in
// shared memory. Here a lane finds its part of the left operand in its own 16-byte loads (tensor_rows.cuh),
// so that rows of X arrive as RoDe's do: its plan says which warps a row gets, its pipeline (rode_warp.cuh)
// loads. Pieces are the paper's multiblock_per_row, short rows its multirow_per_block.
#include "ops/cuda/rode/rode_warp.cuh"
#include "ops/cuda/spmm/tensor_rows.cuh"

namespace rodeo::kernels::cuda {
namespace {

template <class Tile>  // weights take registers
constexpr int kBlocksOfMultiprocessor = Tile::kWeighting == Weighting::kNone ? 6 : 5;

template <class Tile>
__global__ void __launch_bounds__(kRodeThreads, kBlocksOfMultiprocessor<Tile>)
    spmm_tca_kernel(const SpmmArgs<typename Tile::T> args, const RodeArgs<float> rode, int rounds) {
  run_rode<TensorRow<Tile>>(args, rode, rounds);
}

}  // namespace

void spmm_tca(const Csr& a, const RodePlan& plan, const Tensor& weight, const Tensor& x, const Tensor& y) {
  dispatch_float(x.dtype(), "spmm", [&]<class T>(T) {
    if constexpr (!std::is_same_v<T, double>)
      dispatch_tile<T, false>(a, weight, x, y, [&]<class Tile>(Tile, const auto& args, std::int64_t tiles) {
        if constexpr (Tile::kWeighting != Weighting::kPerHead) {
          std::optional<Scratch> partial;
          const auto rode = make_rode_args<Tile>(plan, args, tiles, y.device(), true, partial);
          launch_rode<Tile>("spmm_tca", spmm_tca_kernel<Tile>, plan, args, rode, tiles, y.device());
        }
      });
  });
}

}  // namespace rodeo::kernels::cuda
