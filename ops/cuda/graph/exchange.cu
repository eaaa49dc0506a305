// Arranges rows for the exchange between ranks (ops/kernels/exchange.h). Copies the widest words that fit
// the rows: 16 to 2 bytes.
#include "ops/cuda/device/tensor_data.cuh"
#include "ops/kernels/exchange.h"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = 256;

/// Calls copy(word) with the widest word of which `row_bytes` are multiples, and x and y aligned to.
template <class Copy>
void with_words(const Tensor& x, const Tensor& y, std::initializer_list<std::int64_t> row_bytes,
                const Copy& copy) {
  const auto fits = [&](std::size_t bytes) {
    bool all = is_aligned(x, bytes) && is_aligned(y, bytes);
    for (const std::int64_t row : row_bytes) all = all && row % static_cast<std::int64_t>(bytes) == 0;
    return all;
  };
  if (fits(sizeof(uint4)))
    copy(uint4{});
  else if (fits(sizeof(uint2)))
    copy(uint2{});
  else if (fits(sizeof(std::uint32_t)))
    copy(std::uint32_t{});
  else
    copy(std::uint16_t{});
}

// Grid grid_for(size, kThreads), block kThreads, in all kernels: a thread a word, grid-stride. `width` words
// a row.
template <class Word>
__global__ void scatter_rows_kernel(const Word* x, const std::int64_t* index, std::int64_t width,
                                    std::int64_t size, Word* y) {
  RODEO_GRID_STRIDE(i, size) {
    const std::int64_t at = quotient(i, width);
    y[index[at] * width + (i - at * width)] = x[i];
  }
}

// x has `n` words a row, y `w`, and `m` rows a part.
template <class Word>
__global__ void split_columns_kernel(const Word* x, std::int64_t m, std::int64_t n, std::int64_t w,
                                     std::int64_t size, Word* y) {
  RODEO_GRID_STRIDE(i, size) {
    const std::int64_t at = quotient(i, w), part = quotient(at, m), column = part * w + (i - at * w);
    y[i] = column < n ? x[(at - part * m) * n + column] : Word{};
  }
}

template <class Word>
__global__ void join_columns_kernel(const Word* x, std::int64_t m, std::int64_t n, std::int64_t w,
                                    std::int64_t size, Word* y) {
  RODEO_GRID_STRIDE(i, size) {
    const std::int64_t row = quotient(i, n), column = i - row * n, part = quotient(column, w);
    y[i] = x[(part * m + row) * w + (column - part * w)];
  }
}

}  // namespace

void scatter_rows(const Tensor& x, const Tensor& index, const Tensor& y) {
  const std::int64_t row_bytes = x.nbytes() / index.numel();
  with_words(x, y, {row_bytes}, [&]<class Word>(Word) {
    constexpr auto kBytes = static_cast<std::int64_t>(sizeof(Word));
    const std::int64_t size = x.nbytes() / kBytes;
    launch("scatter_rows", y.device(), scatter_rows_kernel<Word>, grid_for(size, kThreads), kThreads, 0,
           static_cast<const Word*>(x.raw()), index.data<std::int64_t>(), row_bytes / kBytes, size,
           static_cast<Word*>(y.raw()));
  });
}

void split_columns(const Tensor& x, const Tensor& y) {
  const auto element = static_cast<std::int64_t>(size_of(x.dtype()));
  const std::int64_t n = x.dim(1) * element, w = y.dim(2) * element;
  with_words(x, y, {n, w}, [&]<class Word>(Word) {
    constexpr auto kBytes = static_cast<std::int64_t>(sizeof(Word));
    const std::int64_t size = y.nbytes() / kBytes;
    launch("split_columns", y.device(), split_columns_kernel<Word>, grid_for(size, kThreads), kThreads, 0,
           static_cast<const Word*>(x.raw()), x.dim(0), n / kBytes, w / kBytes, size,
           static_cast<Word*>(y.raw()));
  });
}

void join_columns(const Tensor& x, const Tensor& y) {
  const auto element = static_cast<std::int64_t>(size_of(x.dtype()));
  const std::int64_t n = y.dim(1) * element, w = x.dim(2) * element;
  with_words(x, y, {n, w}, [&]<class Word>(Word) {
    constexpr auto kBytes = static_cast<std::int64_t>(sizeof(Word));
    const std::int64_t size = y.nbytes() / kBytes;
    launch("join_columns", y.device(), join_columns_kernel<Word>, grid_for(size, kThreads), kThreads, 0,
           static_cast<const Word*>(x.raw()), y.dim(0), n / kBytes, w / kBytes, size,
           static_cast<Word*>(y.raw()));
  });
}

}  // namespace rodeo::kernels::cuda
