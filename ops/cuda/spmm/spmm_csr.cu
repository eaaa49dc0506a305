// Y = A X by a group of lanes per row: no plan, good where rows are short and even.
#include "ops/cuda/spmm/gather.cuh"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = 128;

// grid (rows / rows of a block, column tiles), block kThreads.
template <class Tile>
__global__ void __launch_bounds__(kThreads) spmm_csr_kernel(const SpmmArgs<typename Tile::T> args) {
  Gather<Tile> gather(args);
  const std::int64_t warp = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) / kWarp;
  const std::int64_t row = warp * Tile::kGroups + gather.group;
  const bool exists = row < args.rows;
  const std::int64_t begin = exists ? args.row_ptr[row] : 0;
  gather.sum_long_row(begin, exists ? args.row_ptr[row + 1] - begin : 0);
  gather.write_y(row, exists);
}

}  // namespace

void spmm_csr(const Csr& a, const Tensor& weight, const Tensor& x, const Tensor& y) {
  dispatch_float(x.dtype(), "spmm", [&]<class T>(T) {
    dispatch_tile<T, false>(a, weight, x, y, [&]<class Tile>(Tile, const auto& args, std::int64_t tiles) {
      const dim3 grid(static_cast<unsigned>(ceil_div(a.rows, kThreads / kWarp * Tile::kGroups)),
                      static_cast<unsigned>(tiles));
      launch("spmm_csr", y.device(), spmm_csr_kernel<Tile>, grid, dim3(kThreads),
             staging_bytes<Tile>(args, kThreads), args);
    });
  });
}

}  // namespace rodeo::kernels::cuda
