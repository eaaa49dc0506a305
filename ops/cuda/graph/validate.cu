// Scans of values that come from outside (ops/validate.h). Every kernel reads its input once, coalesced, and
// keeps the smallest bad position by atomicMin, so that the result does not depend on the order of threads.
#include "core/cuda/warp.cuh"
#include "ops/cuda/device/first_found.cuh"
#include "ops/cuda/device/pack.cuh"
#include "ops/cuda/device/tensor_data.cuh"
#include "ops/kernels/graph.h"

namespace rodeo::kernels::cuda {
namespace {

using namespace rodeo::cuda;
constexpr int kThreads = 256;
constexpr int kMaxBlocks = 4096;  // few: every warp of the CSR scan adds to the same words

dim3 grid_of(std::int64_t n) {
  const std::int64_t blocks = ceil_div(n, kThreads * 4);
  return dim3(static_cast<unsigned>(blocks < kMaxBlocks ? blocks : kMaxBlocks));
}

// All kernels: grid-stride, block kThreads.
template <class I>
__global__ void __launch_bounds__(kThreads)
    out_of_range_kernel(const I* ids, std::int64_t n, std::int64_t limit, Position* first) {
  RODEO_GRID_STRIDE(i, n) {
    if (ids[i] < 0 || ids[i] >= limit) atomicMin(first, static_cast<Position>(i));
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    not_finite_kernel(const T* values, std::int64_t n, Position* first) {
  RODEO_GRID_STRIDE(i, n) {
    if (!isfinite(widen(values[i]))) atomicMin(first, static_cast<Position>(i));
  }
}

// The words of a CSR scan on the device. The counts are modulo 2^64.
enum Found { kBadRowPtr, kBadCol, kDescents, kRepeats, kWords };

// Counts descending and equal neighbours among all edges, then takes off those that are in different rows. A
// scan by rows would be unbalanced, and would read out of bounds where row_ptr is invalid.
__global__ void __launch_bounds__(kThreads)
    scan_csr_kernel(const std::int64_t* row_ptr, std::int64_t rows, const std::int32_t* col,
                    std::int64_t edges, std::int64_t cols, Position* found) {
  Position descents = 0, repeats = 0;
  RODEO_GRID_STRIDE(e, edges) {
    const std::int32_t here = col[e];
    if (here < 0 || here >= cols) atomicMin(found + kBadCol, static_cast<Position>(e));
    if (e > 0) {
      const std::int32_t before = col[e - 1];
      descents += before > here;
      repeats += before == here;
    }
  }
  RODEO_GRID_STRIDE(i, rows + 1) {
    const std::int64_t at = row_ptr[i], before = i > 0 ? row_ptr[i - 1] : 0;
    if (at < before || (i == 0 && at != 0) || (i == rows && at != edges))
      atomicMin(found + kBadRowPtr, static_cast<Position>(i));
    if (i < rows && at > 0 && at < edges && at < row_ptr[i + 1]) {
      descents -= col[at - 1] > col[at];
      repeats -= col[at - 1] == col[at];
    }
  }
  descents = sum_over(descents);
  repeats = sum_over(repeats);
  if (threadIdx.x % kWarp != 0) return;
  if (descents != 0) atomicAdd(found + kDescents, descents);
  if (repeats != 0) atomicAdd(found + kRepeats, repeats);
}

}  // namespace

std::int64_t first_out_of_range(const Tensor& ids, std::int64_t limit) {
  return first_found(ids.device(), [&](Position* first) {
    const auto run = [&]<class I>(I) {
      launch("first_outside", ids.device(), out_of_range_kernel<I>, grid_of(ids.numel()), kThreads, 0,
             ids.data<I>(), ids.numel(), limit, first);
    };
    if (ids.dtype() == DType::kI64)
      run(std::int64_t{});
    else
      run(std::int32_t{});
  });
}

std::int64_t first_not_finite(const Tensor& values) {
  return first_found(values.device(), [&](Position* first) {
    dispatch_float(values.dtype(), "first_not_finite", [&]<class T>(T) {
      launch("first_not_finite", values.device(), not_finite_kernel<device_t<T>>, grid_of(values.numel()),
             kThreads, 0, device_data<T>(values), values.numel(), first);
    });
  });
}

CsrScan scan_csr(const Csr& a) {
  const Device device = a.col.device();
  const Tensor found = Tensor::from(std::vector<std::int64_t>{-1, -1, 0, 0}, device);
  static_assert(kWords == 4);
  const std::int64_t edges = a.col.numel(), longer = edges > a.rows ? edges : a.rows + 1;
  launch("scan_csr", device, scan_csr_kernel, grid_of(longer), kThreads, 0, a.row_ptr.data<std::int64_t>(),
         a.rows, a.col.data<std::int32_t>(), edges, a.cols, static_cast<Position*>(found.raw()));
  const auto word = found.to_vector<std::int64_t>();
  return {word[kBadRowPtr], word[kBadCol], word[kDescents] == 0, word[kRepeats] != 0};
}

}  // namespace rodeo::kernels::cuda
