// Y = A X on the CPU: row by row, with a strip of columns in registers and rows of X prefetched.
#include <algorithm>
#include <vector>

#include "ops/cpu/loops.h"
#include "ops/kernels/sparse.h"

namespace rodeo::kernels::cpu {
namespace {

/// The sum of weight[e] * x[col[e], 0 .. width) over edges [begin, end), in order; added to `sum` or written
/// to y.
template <class T>
struct Edges {
  const std::int32_t* col;
  const T* weight;  // null for an unweighted sum
  std::int64_t weight_stride;
  const T* x;
  std::int64_t x_stride;
  std::int64_t count;
  std::int64_t ahead = x_stride <= 64 ? 32 : 16;  // edges, whatever their rows: many rows are short

  template <int kStrip, bool kAdd, class Out>
  void sum_strip(std::int64_t begin, std::int64_t end, std::int64_t column, Out* out) const {
    Accumulator<T> s[kStrip] = {};
    for (std::int64_t e = begin; e < end; ++e) {
      const T* row = x + col[e] * x_stride + column;
      if (e + ahead < count)
        for (int line = 0; line < kStrip; line += 64 / static_cast<int>(sizeof(T)))
          __builtin_prefetch(x + col[e + ahead] * x_stride + column + line);
      if (weight) {
        const auto w = load(weight[e * weight_stride]);
#pragma omp simd
        for (int j = 0; j < kStrip; ++j) s[j] = multiply_add(w, load(row[j]), s[j]);
      } else {
#pragma omp simd
        for (int j = 0; j < kStrip; ++j) s[j] += load(row[j]);
      }
    }
    if constexpr (kAdd) {
#pragma omp simd
      for (int j = 0; j < kStrip; ++j) out[column + j] += s[j];
    } else {
#pragma omp simd
      for (int j = 0; j < kStrip; ++j) out[column + j] = Out(s[j]);
    }
  }
  template <bool kAdd, class Out>
  void sum(std::int64_t begin, std::int64_t end, std::int64_t width, Out* out) const {
    std::int64_t column = 0;
    for (; column + 64 <= width; column += 64) sum_strip<64, kAdd>(begin, end, column, out);
    for (; column + 16 <= width; column += 16) sum_strip<16, kAdd>(begin, end, column, out);
    for (; column + 4 <= width; column += 4) sum_strip<4, kAdd>(begin, end, column, out);
    for (; column < width; ++column) sum_strip<1, kAdd>(begin, end, column, out);
  }
};

template <class T>
struct Operands {
  const std::int64_t* row_ptr;
  T* y;
  std::int64_t n, heads, k;
  Edges<T> edges;

  Operands(const Csr& a, const Tensor& weight, const Tensor& x, const Tensor& y_)
      : row_ptr(a.row_ptr.data<std::int64_t>()),
        y(y_.data<T>()),
        n(y_.numel() / a.rows),
        heads(heads_of(weight)),
        k(n / heads),
        edges{a.col.data<std::int32_t>(),
              weight.defined() ? weight.data<T>() : nullptr,
              heads,
              x.data<T>(),
              n,
              a.col.numel()} {}

  template <bool kAdd, class Out>
  void sum(std::int64_t begin, std::int64_t end, Out* out) const {
    if (heads == 1) return edges.template sum<kAdd>(begin, end, n, out);
    for (std::int64_t h = 0; h < heads; ++h) {
      Edges<T> part = edges;
      part.x += h * k;
      if (part.weight) part.weight += h;
      part.template sum<kAdd>(begin, end, k, out + h * k);
    }
  }
  void add(std::int64_t begin, std::int64_t end, Accumulator<T>* out) const { sum<true>(begin, end, out); }
  void write(std::int64_t row, const Accumulator<T>* sum) const {
    for (std::int64_t j = 0; j < n; ++j) y[row * n + j] = T(sum[j]);
  }
  /// Long rows are summed in pieces that are added up in `total`, so that the rounding error does not grow
  /// with the row length. A row of one piece goes from registers to y.
  void sum_row(std::int64_t row, std::vector<Accumulator<T>>& total) const {
    std::int64_t begin = row_ptr[row];
    const std::int64_t end = row_ptr[row + 1];
    if (end - begin <= RodePlan::kSplit) return sum<false>(begin, end, y + row * n);
    std::fill(total.begin(), total.end(), Accumulator<T>(0));
    for (; begin < end; begin += RodePlan::kSplit)
      add(begin, std::min(end, begin + RodePlan::kSplit), total.data());
    write(row, total.data());
  }
};

/// The first row of chunk `chunk` of `chunks` with equal work. Work is nonzeros plus a constant for each row.
std::int64_t chunk_begin(const std::int64_t* row_ptr, std::int64_t rows, std::int64_t chunk,
                         std::int64_t chunks) {
  const auto work_before = [&](std::int64_t row) { return row_ptr[row] + row; };
  const std::int64_t target = static_cast<std::int64_t>(
      static_cast<double>(work_before(rows)) * static_cast<double>(chunk) / static_cast<double>(chunks));
  std::int64_t low = 0, high = rows;
  while (low < high) {
    const std::int64_t middle = (low + high) / 2;
    if (work_before(middle) < target)
      low = middle + 1;
    else
      high = middle;
  }
  return chunk == chunks ? rows : low;
}

}  // namespace

void spmm_csr(const Csr& a, const RowLocality&, const Tensor& weight, const Tensor& x, const Tensor& y) {
  dispatch_float(x.dtype(), "spmm", [&]<class T>(T) {
    const Operands<T> op(a, weight, x, y);
    // Enough chunks to balance the load, few enough that searching for their begins is cheap.
    const std::int64_t threads = omp_get_max_threads(), work = a.col.numel() * op.n,
                       chunks = std::min(a.rows, std::clamp(work / (4 * kSerial), 4 * threads, 64 * threads));
#pragma omp parallel if (work > kSerial)
    {
      std::vector<Accumulator<T>> sum(static_cast<std::size_t>(op.n));
#pragma omp for schedule(dynamic)
      for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
        const std::int64_t end = chunk_begin(op.row_ptr, a.rows, chunk + 1, chunks);
        for (std::int64_t row = chunk_begin(op.row_ptr, a.rows, chunk, chunks); row < end; ++row)
          op.sum_row(row, sum);
      }
    }
  });
}

// The plan as on the GPU: pieces and residual rows in parallel, then the pieces of split rows are added in
// order.
void spmm_rode(const Csr& a, const RodePlan& plan, Accumulate, const Tensor& weight, const Tensor& x,
               const Tensor& y) {
  dispatch_float(x.dtype(), "spmm", [&]<class T>(T) {
    using Sum = Accumulator<T>;
    const Operands<T> op(a, weight, x, y);
    const auto *piece_row = plan.piece_row.data<std::int32_t>(),
               *split = plan.piece_split.data<std::int32_t>();
    const auto *begin = plan.piece_begin.data<std::int64_t>(), *slot = plan.split_slot.data<std::int64_t>();
    const auto* length = plan.piece_length.data<std::int32_t>();
    const auto* residual = plan.residual_row.data<std::int32_t>();
    const std::int64_t splits = plan.num_split_rows();
    std::vector<Sum> partial(static_cast<std::size_t>(slot[splits] * op.n));
    std::vector<std::int32_t> split_row(static_cast<std::size_t>(splits));
#pragma omp parallel if (a.col.numel() * op.n > kSerial)
    {
      std::vector<Sum> sum(static_cast<std::size_t>(op.n));
#pragma omp for schedule(dynamic, 8)
      for (std::int64_t p = 0; p < plan.num_pieces(); ++p) {
        const std::int64_t row = piece_row[p];
        std::fill(sum.begin(), sum.end(), Sum(0));
        op.add(begin[p], begin[p] + length[p], sum.data());
        if (split[p] < 0) {
          op.write(row, sum.data());
        } else {
          const std::int64_t at = slot[split[p]] + (begin[p] - op.row_ptr[row]) / plan.split;
          if (at == slot[split[p]]) split_row[split[p]] = piece_row[p];  // the first alone
          std::copy(sum.begin(), sum.end(), partial.begin() + at * op.n);
        }
      }
#pragma omp for schedule(dynamic, 64)
      for (std::int64_t i = 0; i < plan.num_residual(); ++i) op.sum_row(residual[i], sum);
#pragma omp for
      for (std::int64_t s = 0; s < splits; ++s) {
        std::fill(sum.begin(), sum.end(), Sum(0));
        for (std::int64_t at = slot[s]; at < slot[s + 1]; ++at)
          for (std::int64_t j = 0; j < op.n; ++j) sum[j] += partial[at * op.n + j];
        op.write(split_row[s], sum.data());
      }
    }
  });
}

}  // namespace rodeo::kernels::cpu
