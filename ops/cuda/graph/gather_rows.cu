// y[i, :] = x[index[i], :] (ops/gather_rows.h, ops/row_cache.h). Copies the widest words that fit the rows:
// 16 to 2 bytes.
#include <cstring>

#include "core/cuda/index_fault.cuh"
#include "ops/cuda/device/tensor_data.cuh"
#include "ops/kernels/graph.h"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = 256;

// Grid grid_for(size, kThreads), block kThreads: a thread a word, grid-stride. `width` words a row, `size`
// words of y; x has `rows` rows. slot: null, or the rows of `cached` that are rows of x.
template <class Word>
__global__ void gather_rows_kernel(const Word* x, std::int64_t rows, const Word* cached,
                                   const std::int32_t* slot, const std::int64_t* index, std::int64_t width,
                                   std::int64_t size, Word missing, Word* y, IndexCheck check) {
  RODEO_GRID_STRIDE(i, size) {
    const std::int64_t at = quotient(i, width), row = index[at];
    if (!is_index(row, rows, at, check)) {
      y[i] = missing;
      continue;
    }
    const std::int64_t in_cache = slot ? slot[row] : -1;
    y[i] = (in_cache >= 0 ? cached + in_cache * width : x + row * width)[i - at * width];
  }
}

template <class Word>
void run(const Tensor& x, const RowCache& cache, const Tensor& index, const Tensor& y) {
  Word nan;  // all bits one: NaN in every floating dtype
  std::memset(&nan, 0xff, sizeof(Word));
  const std::int64_t size = y.nbytes() / static_cast<std::int64_t>(sizeof(Word));
  launch("gather_rows", y.device(), gather_rows_kernel<Word>, grid_for(size, kThreads), kThreads, 0,
         static_cast<const Word*>(x.raw()), x.dim(0),
         static_cast<const Word*>(cache.defined() ? cache.rows.raw() : nullptr),
         cache.defined() ? cache.slot.data<std::int32_t>() : nullptr, index.data<std::int64_t>(),
         size / index.numel(), size, nan, static_cast<Word*>(y.raw()),
         index_check(y.device(), "gather_rows", "index"));
}

}  // namespace

void gather_rows(const Tensor& x, const RowCache& cache, const Tensor& index, const Tensor& y) {
  const std::int64_t row_bytes = y.nbytes() / index.numel();
  const auto fits = [&](std::size_t bytes) {
    return row_bytes % static_cast<std::int64_t>(bytes) == 0 && is_aligned(x, bytes) &&
           is_aligned(y, bytes) && (!cache.defined() || is_aligned(cache.rows, bytes));
  };
  if (fits(sizeof(uint4)))
    run<uint4>(x, cache, index, y);
  else if (fits(sizeof(uint2)))
    run<uint2>(x, cache, index, y);
  else if (fits(sizeof(std::uint32_t)))
    run<std::uint32_t>(x, cache, index, y);
  else
    run<std::uint16_t>(x, cache, index, y);
}

}  // namespace rodeo::kernels::cuda
