// Dot and elementwise products of the rows of two nodes (ops/pairs.h), and pairs without an edge.
#include "ops/kernels/pairs.h"
#include "ops/cpu/loops.h"
#include "ops/kernels/negative_draw.h"

namespace rodeo::kernels::cpu {

void pair_dot(const Tensor& a, const Tensor& b, const Tensor& src, const Tensor& dst, const Tensor& s) {
  dispatch_float(a.dtype(), "pair_dot", [&]<class T>(T) {
    const T *as = a.data<T>(), *bs = b.data<T>();
    const auto *from = src.data<std::int64_t>(), *to = dst.data<std::int64_t>();
    T* out = s.data<T>();
    const std::int64_t n = a.dim(1);
    for_each_row(s.numel(), n, [=](std::int64_t i) {
      const T *x = as + from[i] * n, *y = bs + to[i] * n;
      Accumulator<T> sum = 0;
      for (std::int64_t j = 0; j < n; ++j) sum += load(x[j]) * load(y[j]);
      out[i] = static_cast<T>(sum);
    });
  });
}

void pair_mul(const Tensor& a, const Tensor& b, const Tensor& src, const Tensor& dst, const Tensor& y) {
  dispatch_float(a.dtype(), "pair_mul", [&]<class T>(T) {
    const T *as = a.data<T>(), *bs = b.data<T>();
    const auto *from = src.data<std::int64_t>(), *to = dst.data<std::int64_t>();
    T* out = y.data<T>();
    const std::int64_t n = a.dim(1);
    for_each_row(y.dim(0), n, [=](std::int64_t i) {
      for (std::int64_t j = 0; j < n; ++j)
        out[i * n + j] = static_cast<T>(load(as[from[i] * n + j]) * load(bs[to[i] * n + j]));
    });
  });
}

void group_by_index(const Tensor& index, const Tensor& order, const Tensor& row_ptr) {
  const auto* row = index.data<std::int64_t>();
  auto* ptr = row_ptr.data<std::int64_t>();
  auto* out = order.data<std::int32_t>();
  const std::int64_t k = index.numel(), rows = row_ptr.numel() - 1;
  std::fill_n(ptr, rows + 1, 0);
  for (std::int64_t i = 0; i < k; ++i) ++ptr[row[i] + 1];
  for (std::int64_t r = 0; r < rows; ++r) ptr[r + 1] += ptr[r];
  std::vector<std::int64_t> next(ptr, ptr + rows);
  for (std::int64_t i = 0; i < k; ++i) out[next[row[i]]++] = static_cast<std::int32_t>(i);
}

void pair_backward(const Tensor& dy, const Tensor& other, const Tensor& at, const Tensor& order,
                   const Tensor& row_ptr, const Tensor& dx) {
  dispatch_float(dx.dtype(), "pair_backward", [&]<class T>(T) {
    const T *dys = dy.data<T>(), *others = other.data<T>();
    const auto *to = at.data<std::int64_t>(), *ptr = row_ptr.data<std::int64_t>();
    const auto* position = order.data<std::int32_t>();
    T* out = dx.data<T>();
    const std::int64_t n = dx.dim(1), rows = dx.dim(0);
    const bool wide = dy.rank() == 2;
#pragma omp parallel if (order.numel() * n > kSerial)
    {
      std::vector<Accumulator<T>> sum(static_cast<std::size_t>(n));
#pragma omp for schedule(dynamic, 64)
      for (std::int64_t r = 0; r < rows; ++r) {
        std::fill(sum.begin(), sum.end(), 0);
        for (std::int64_t e = ptr[r]; e < ptr[r + 1]; ++e) {
          const std::int64_t i = position[e];
          const T* x = others + to[i] * n;
          for (std::int64_t j = 0; j < n; ++j) sum[j] += load(dys[wide ? i * n + j : i]) * load(x[j]);
        }
        for (std::int64_t j = 0; j < n; ++j) out[r * n + j] = static_cast<T>(sum[j]);
      }
    }
  });
}

void negative_edges(const Csr& a, const PairRange& among, RandomKey key, const Tensor& src,
                    const Tensor& dst) {
  const auto* row_ptr = a.row_ptr.data<std::int64_t>();
  const auto* col = a.col.data<std::int32_t>();
  auto *from = src.data<std::int64_t>(), *to = dst.data<std::int64_t>();
  const std::uint64_t stream = key.stream_now();
  for_each_element(src.numel(), [=, seed = key.seed, first = key.first_row](std::int64_t i) {
    const NegativePair pair = draw_negative(row_ptr, col, among, seed, stream, first + i);
    from[i] = pair.col;
    to[i] = pair.row;
  });
}

}  // namespace rodeo::kernels::cpu
