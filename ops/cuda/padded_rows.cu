#include "ops/cuda/padded_rows.h"

#include "core/cuda/launch.cuh"

namespace rodeo::kernels::cuda {

using namespace rodeo::cuda;

namespace {

constexpr int kThreads = 256;
constexpr int kRows = 4;  // in flight in a thread

// grid blocks of kRows rows for every thread row, block (lanes of a row, rows). U: an unsigned integer of an
// element's size. Lanes stride over the columns, so that reads and writes are of whole lines.
template <class U>
__global__ void pad_rows_kernel(const U* x, U* out, std::int64_t rows, std::int64_t k, std::int64_t pitch) {
  const std::int64_t first = (static_cast<std::int64_t>(blockIdx.x) * blockDim.y + threadIdx.y) * kRows;
  for (std::int64_t j = threadIdx.x; j < pitch; j += blockDim.x) {
    U value[kRows];
#pragma unroll
    for (int r = 0; r < kRows; ++r) value[r] = first + r < rows && j < k ? x[(first + r) * k + j] : U(0);
#pragma unroll
    for (int r = 0; r < kRows; ++r)
      if (first + r < rows) out[(first + r) * pitch + j] = value[r];
  }
}

// Whole sectors of 32 bytes for single heads, so that no row touches one more than it needs.
std::int64_t pitch_of(std::int64_t k, std::int64_t heads, std::int64_t element) {
  const std::int64_t bytes = k * element, unit = heads == 1 && bytes > 16 ? 32 : 16;
  return ceil_div(bytes, unit) * unit / element;
}

}  // namespace

PaddedRows PaddedRows::unwritten(const Tensor& given, std::int64_t heads, std::int64_t k) {
  PaddedRows rows;
  rows.x = given;
  rows.pitch = k;
  const auto element = static_cast<std::int64_t>(size_of(given.dtype()));
  if (k * element % 16 == 0 && is_aligned(given)) return rows;
  rows.pitch = pitch_of(k, heads, element);
  const std::int64_t parts = k == 0 ? 0 : given.numel() / k;
  rows.x = Tensor::empty({parts * rows.pitch}, given.dtype(), given.device());
  return rows;
}

PaddedRows::PaddedRows(const Tensor& given, std::int64_t heads, std::int64_t k)
    : PaddedRows(unwritten(given, heads, k)) {
  if (x.raw() == given.raw()) return;
  const auto element = static_cast<std::int64_t>(size_of(x.dtype()));
  const std::int64_t parts = k == 0 ? 0 : given.numel() / k;
  unsigned lanes = 4;
  while (lanes < kWarp && lanes < pitch) lanes *= 2;
  const dim3 block(lanes, kThreads / lanes);
  const auto run = [&]<class U>(U) {
    launch("pad rows", x.device(), pad_rows_kernel<U>,
           dim3(static_cast<unsigned>(ceil_div(parts, kRows * block.y))), block, 0,
           static_cast<const U*>(given.raw()), static_cast<U*>(x.raw()), parts, k, pitch);
  };
  if (element == 8)
    run(std::uint64_t{});
  else if (element == 4)
    run(std::uint32_t{});
  else
    run(std::uint16_t{});
}

}  // namespace rodeo::kernels::cuda
