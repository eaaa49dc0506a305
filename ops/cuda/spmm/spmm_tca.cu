// Y = A X by TCA-SpMM: dot products of a row of A and a column of X as traces of small matrix products on
// tensor cores, from plain CSR. The plan (ops/plan/tca_plan.h) says which warps compute a row.
#include "ops/cuda/device/padded_rows.cuh"
#include "ops/cuda/spmm/tca_rows.cuh"
#include "ops/kernels/sparse.h"

namespace rodeo::kernels::cuda {
namespace {

/// What f32 spills at 4 blocks costs more than the fourth block brings.
template <class T>
constexpr int kBlocksPerMultiprocessor = sizeof(T) == 2 ? 4 : 3;

template <class T>
void run(const Csr& a, const TcaPlan& plan, const Tensor& weight, const PaddedRows& x, const Tensor& y) {
  const std::int64_t n = y.dim(1), bytes = sizeof(T);
  const TcaArgs<T> args{.row_ptr = a.row_ptr.data<std::int64_t>(),
                        .col = a.col.data<std::int32_t>(),
                        .weight = device_data<T>(weight),
                        .x = device_data<T>(x.x),
                        .y = device_data<T>(y),
                        .row_id = plan.row_id_for_each_warp.data<std::int32_t>(),
                        .num_warps = plan.num_warps_per_row.data<std::int32_t>(),
                        .warp_id = plan.warpid_within_row.data<std::int32_t>(),
                        .columns = static_cast<std::uint32_t>(n),
                        .row_bytes = static_cast<std::uint32_t>(x.pitch * bytes),
                        .tiles = static_cast<int>(TcaPlan::tiles(n, sizeof(T))),
                        .whole_vectors = rows_are_aligned(y, n)};
  const dim3 grid(static_cast<unsigned>(plan.row_id_for_each_warp.numel() / kTcaWarps));
  const auto launch_kernel = [&](auto* kernel) {
    launch("spmm_tca", y.device(), kernel, grid, dim3(kTcaThreads), 0, args);
  };
  if (weight.defined())
    launch_kernel(spmm_tca_kernel<T, true, kBlocksPerMultiprocessor<T>>);
  else
    launch_kernel(spmm_tca_kernel<T, false, kBlocksPerMultiprocessor<T>>);
}

}  // namespace

void spmm_tca(const Csr& a, const TcaPlan& plan, const Tensor& weight, const Tensor& x, const Tensor& y) {
  const PaddedRows rows(x, 1, x.dim(1));
  switch (x.dtype()) {
    case DType::kF16:
      return run<__half>(a, plan, weight, rows, y);
    case DType::kBF16:
      return run<__nv_bfloat16>(a, plan, weight, rows, y);
    default:
      return run<float>(a, plan, weight, rows, y);
  }
}

}  // namespace rodeo::kernels::cuda
