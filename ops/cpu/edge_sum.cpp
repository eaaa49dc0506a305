#include "ops/cpu/loops.h"
#include "ops/kernels/sparse.h"

namespace rodeo::kernels::cpu {

// Long rows are summed in pieces, so that the rounding error does not grow with the row length.
void edge_sum(const Adjacency& adj, const Tensor& x, const Tensor& edge_ids, const Tensor& y) {
  dispatch_float(x.dtype(), "edge_sum", [&]<class T>(T) {
    const auto* row_ptr = adj.csr().row_ptr.data<std::int64_t>();
    const auto* ids = edge_ids.defined() ? edge_ids.data<std::int64_t>() : nullptr;
    const T* from = x.data<T>();
    T* to = y.data<T>();
    const std::int64_t k = x.dim(1);
#pragma omp parallel if (x.numel() > kSerial)
    {
      std::vector<Accumulator<T>> total(static_cast<std::size_t>(k)), piece(total.size());
#pragma omp for schedule(dynamic, 64)
      for (std::int64_t row = 0; row < adj.rows(); ++row) {
        std::fill(total.begin(), total.end(), Accumulator<T>(0));
        for (std::int64_t begin = row_ptr[row]; begin < row_ptr[row + 1]; begin += RodePlan::kSplit) {
          std::fill(piece.begin(), piece.end(), Accumulator<T>(0));
          const std::int64_t end = std::min(row_ptr[row + 1], begin + RodePlan::kSplit);
          for (std::int64_t e = begin; e < end; ++e) {
            const T* edge = from + (ids ? ids[e] : e) * k;
            for (std::int64_t j = 0; j < k; ++j) piece[j] += load(edge[j]);
          }
          for (std::int64_t j = 0; j < k; ++j) total[j] += piece[j];
        }
        for (std::int64_t j = 0; j < k; ++j) to[row * k + j] = T(total[j]);
      }
    }
  });
}

}  // namespace rodeo::kernels::cpu
