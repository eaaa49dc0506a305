// Y = A X with a group of lanes per row: no plan, fast where rows are short and of similar length.
#include "ops/cuda/rode/row_accumulator.cuh"
#include "ops/cuda/rode/row_store.cuh"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = 128;

template <class Tile>  // more warps hide latency better than more registers do
constexpr int blocks_per_multiprocessor() {
  return sizeof(typename Tile::T) == 8 || RowLoader<Tile>::kRowsInFlight * Tile::kLoads > 4 ? 8 : 10;
}

// grid (rows / rows of a block, column tiles), block kThreads.
template <class Tile>
__global__ void __launch_bounds__(kThreads, blocks_per_multiprocessor<Tile>())
    spmm_csr_kernel(const SpmmArgs<typename Tile::T> args) {
  const RowLoader<Tile> loader(args);
  SimtAccumulator<Tile> sums;
  const std::int64_t warp = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) / kWarp;
  const std::int64_t row = warp * Tile::kGroups + loader.group;
  const bool exists = row < args.rows;
  const std::int64_t begin = exists ? args.row_ptr[row] : 0;
  const std::int64_t length = exists ? args.row_ptr[row + 1] - begin : 0;
  if (__any_sync(kFullMask, length > RodePlan::kSplit)) {
    sum_long_row(loader, sums, begin, length);
  } else {
    const int short_length = static_cast<int>(length);
    sum_row(loader, sums, begin, short_length, loader.load_first_entry(begin, short_length));
  }
  store_row(loader, sums.sum, row, exists);
}

}  // namespace

void spmm_csr(const Csr& a, const RowLocality& locality, const Tensor& weight, const Tensor& x,
              const Tensor& y) {
  SpmmSizes sizes = spmm_sizes(a, weight, x, y);
  sizes.local_rows = locality.is_local();
  const SpmmConfig config = choose_csr_config(sizes);
  const Tensor rows = config.copies_x ? PaddedRows(x, sizes.heads, sizes.k).x : x;
  dispatch_float(x.dtype(), "spmm", [&]<class Host>(Host) {
    using T = device_t<Host>;
    SpmmArgs<T> args = make_spmm_args<T>(a, weight, rows, sizes, config.pitch, y);
    for (const SpmmLaunch& l : config.launches()) {
      args.first = l.first_column;
      dispatch_tile<SpmmKernel::kCsr, T>(l.tile, sizes.weighting, [&]<class Tile>(Tile) {
        const dim3 grid(static_cast<unsigned>(ceil_div(a.rows, kThreads / kWarp * Tile::kGroups)),
                        static_cast<unsigned>(l.tiles));
        launch("spmm_csr", y.device(), spmm_csr_kernel<Tile>, grid, dim3(kThreads),
               staging_bytes<Tile>(args, kThreads), args);
      });
    }
  });
}

}  // namespace rodeo::kernels::cuda
