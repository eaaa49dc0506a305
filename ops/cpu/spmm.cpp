#include <vector>

#include "ops/cpu/loops.h"
#include "ops/kernels.h"

namespace rodeo::kernels::cpu {
namespace {

// sum[0..n) += weight[e] * x[col[e], :] over the edges [begin, end), in order.
template <class T>
void accumulate(const std::int32_t* col, const T* weight, const T* x, std::int64_t n, std::int64_t begin,
                std::int64_t end, Accumulator<T>* sum) {
  for (std::int64_t e = begin; e < end; ++e) {
    const T* row = x + col[e] * n;
    if (weight) {
      const auto w = load(weight[e]);
      for (std::int64_t j = 0; j < n; ++j) sum[j] += w * load(row[j]);
    } else {
      for (std::int64_t j = 0; j < n; ++j) sum[j] += load(row[j]);
    }
  }
}

template <class T>
struct Operands {
  const std::int64_t* row_ptr;
  const std::int32_t* col;
  const T *weight, *x;
  T* y;
  std::int64_t n;

  Operands(const Csr& a, const Tensor& weight_, const Tensor& x_, const Tensor& y_)
      : row_ptr(a.row_ptr.data<std::int64_t>()),
        col(a.col.data<std::int32_t>()),
        weight(weight_.defined() ? weight_.data<T>() : nullptr),
        x(x_.data<T>()),
        y(y_.data<T>()),
        n(x_.dim(1)) {}

  void write(std::int64_t row, const Accumulator<T>* sum) const {
    for (std::int64_t j = 0; j < n; ++j) y[row * n + j] = T(sum[j]);
  }
  /// Sums of a piece's length, added up: the rounding error of a hub row stays that of a short one.
  void sum_range(std::int64_t begin, std::int64_t end, std::vector<Accumulator<T>>& sum) const {
    std::fill(sum.begin(), sum.end(), Accumulator<T>(0));
    accumulate(col, weight, x, n, begin, std::min(end, begin + RodePlan::kSplit), sum.data());
    if (end - begin <= RodePlan::kSplit) return;
    std::vector<Accumulator<T>> piece(sum.size());
    for (begin += RodePlan::kSplit; begin < end; begin += RodePlan::kSplit) {
      std::fill(piece.begin(), piece.end(), Accumulator<T>(0));
      accumulate(col, weight, x, n, begin, std::min(end, begin + RodePlan::kSplit), piece.data());
      for (std::int64_t j = 0; j < n; ++j) sum[j] += piece[j];
    }
  }
  void sum_row(std::int64_t row, std::vector<Accumulator<T>>& sum) const {
    sum_range(row_ptr[row], row_ptr[row + 1], sum);
    write(row, sum.data());
  }
};

}  // namespace

void spmm_csr(const Csr& a, const Tensor& weight, const Tensor& x, const Tensor& y) {
  dispatch_float(x.dtype(), "spmm", [&]<class T>(T) {
    const Operands<T> op(a, weight, x, y);
#pragma omp parallel if (a.col.numel() * op.n > kSerial)
    {
      std::vector<Accumulator<T>> sum(static_cast<std::size_t>(op.n));
#pragma omp for schedule(dynamic, 64)
      for (std::int64_t row = 0; row < a.rows; ++row) op.sum_row(row, sum);
    }
  });
}

// The plan as the GPU runs it: pieces and short rows in parallel, then the split rows piece by piece.
void spmm_rode(const Csr& a, const RodePlan& plan, const Tensor& weight, const Tensor& x, const Tensor& y) {
  dispatch_float(x.dtype(), "spmm", [&]<class T>(T) {
    using Sum = Accumulator<T>;
    const Operands<T> op(a, weight, x, y);
    const auto *piece_row = plan.piece_row.data<std::int32_t>(),
               *split = plan.piece_split.data<std::int32_t>();
    const auto *begin = plan.piece_begin.data<std::int64_t>(), *slot = plan.split_slot.data<std::int64_t>();
    const auto* residual = plan.residual_row.data<std::int32_t>();
    const std::int64_t splits = plan.num_split_rows();
    std::vector<Sum> partial(static_cast<std::size_t>(slot[splits] * op.n));
    std::vector<std::int32_t> split_row(static_cast<std::size_t>(splits));
#pragma omp parallel if (a.col.numel() * op.n > kSerial)
    {
      std::vector<Sum> sum(static_cast<std::size_t>(op.n));
#pragma omp for schedule(dynamic, 8)
      for (std::int64_t p = 0; p < plan.num_pieces(); ++p) {
        const std::int64_t row = piece_row[p], end = op.row_ptr[row + 1];
        std::fill(sum.begin(), sum.end(), Sum(0));
        accumulate(op.col, op.weight, op.x, op.n, begin[p], begin[p] + RodePlan::piece_length(end - begin[p]),
                   sum.data());
        if (split[p] < 0) {
          op.write(row, sum.data());
        } else {
          split_row[split[p]] = piece_row[p];
          const std::int64_t at = slot[split[p]] + (begin[p] - op.row_ptr[row]) / RodePlan::kSplit;
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
