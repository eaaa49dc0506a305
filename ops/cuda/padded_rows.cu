#include "ops/cuda/padded_rows.h"

#include "core/cuda/launch.cuh"

namespace rodeo::kernels::cuda {

using namespace rodeo::cuda;

namespace {

constexpr int kThreads = 256;

// A thread writes 16 bytes of a padded part. U: an unsigned integer of an element's size. I: 32 bits where
// they suffice, for the division's sake.
template <class U, class I>
__global__ void pad_rows_kernel(const U* x, U* out, std::int64_t chunks, I chunks_of_part, std::int64_t k) {
  constexpr int kVec = 16 / sizeof(U);
  RODEO_GRID_STRIDE(i, chunks) {
    const I part = static_cast<I>(i) / chunks_of_part, chunk = static_cast<I>(i) % chunks_of_part;
    const std::int64_t first = static_cast<std::int64_t>(chunk) * kVec;
    const U* from = x + static_cast<std::int64_t>(part) * k + first;
    struct alignas(16) {
      U value[kVec];
    } pack;
#pragma unroll
    for (int v = 0; v < kVec; ++v) pack.value[v] = first + v < k ? from[v] : U(0);
    reinterpret_cast<decltype(pack)*>(out)[i] = pack;
  }
}

// Whole sectors of 32 bytes for single heads, so that no row touches one more than it needs.
std::int64_t pitch_of(std::int64_t k, std::int64_t heads, std::int64_t element) {
  const std::int64_t bytes = k * element, unit = heads == 1 && bytes > 16 ? 32 : 16;
  return ceil_div(bytes, unit) * unit / element;
}

}  // namespace

PaddedRows::PaddedRows(const Tensor& given, std::int64_t heads, std::int64_t k) : x(given), pitch(k) {
  const auto element = static_cast<std::int64_t>(size_of(x.dtype()));
  if (k * element % 16 == 0 && is_aligned(x)) return;
  pitch = pitch_of(k, heads, element);
  const std::int64_t parts = k == 0 ? 0 : given.numel() / k, chunks_of_part = pitch * element / 16,
                     chunks = parts * chunks_of_part;
  x = Tensor::empty({parts * pitch}, given.dtype(), given.device());
  const auto run = [&]<class U, class I>(U, I) {
    launch("pad rows", x.device(), pad_rows_kernel<U, I>, grid_for(chunks, kThreads), kThreads, 0,
           static_cast<const U*>(given.raw()), static_cast<U*>(x.raw()), chunks,
           static_cast<I>(chunks_of_part), k);
  };
  const auto with_index = [&]<class U>(U element_type) {
    if (chunks < std::int64_t{1} << 32)
      run(element_type, std::uint32_t{});
    else
      run(element_type, std::uint64_t{});
  };
  if (element == 8)
    with_index(std::uint64_t{});
  else if (element == 4)
    with_index(std::uint32_t{});
  else
    with_index(std::uint16_t{});
}

}  // namespace rodeo::kernels::cuda
