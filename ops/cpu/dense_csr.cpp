#include <numeric>

#include "ops/cpu/loops.h"
#include "ops/kernels/graph.h"

namespace rodeo::kernels::cpu {

WeightedCsr dense_to_csr(const Tensor& x, RowScan /*all of it is on the host*/) {
  const std::int64_t rows = x.dim(0), cols = x.dim(1);
  const Tensor row_ptr = Tensor::empty({rows + 1}, DType::kI64);
  auto* ptr = row_ptr.data<std::int64_t>();
  return dispatch_float(x.dtype(), "dense_to_csr", [&]<class T>(T) {
    const T* p = x.data<T>();
    ptr[0] = 0;
    for_each_row(rows, cols, [=](std::int64_t i) {
      std::int64_t count = 0;
      for (std::int64_t j = 0; j < cols; ++j) count += load(p[i * cols + j]) != 0;
      ptr[i + 1] = count;
    });
    std::partial_sum(ptr, ptr + rows + 1, ptr);
    WeightedCsr out{{rows, cols, row_ptr, Tensor::empty({ptr[rows]}, DType::kI32)},
                    Tensor::empty({ptr[rows]}, x.dtype())};
    auto* col = out.csr.col.template data<std::int32_t>();
    T* weight = out.weight.template data<T>();
    for_each_row(rows, cols, [=](std::int64_t i) {
      std::int64_t e = ptr[i];
      for (std::int64_t j = 0; j < cols; ++j)
        if (load(p[i * cols + j]) != 0) {
          col[e] = static_cast<std::int32_t>(j);
          weight[e++] = p[i * cols + j];
        }
    });
    return out;
  });
}

void csr_to_dense(const Csr& a, const Tensor& weight, const Tensor& y) {
  dispatch_float(y.dtype(), "csr_to_dense", [&]<class T>(T) {
    const auto* row_ptr = a.row_ptr.data<std::int64_t>();
    const auto* col = a.col.data<std::int32_t>();
    const T* w = weight.defined() ? weight.data<T>() : nullptr;
    T* out = y.data<T>();
#pragma omp parallel if (y.numel() > kSerial)
    {
      std::vector<Accumulator<T>> sum(static_cast<std::size_t>(a.cols));
#pragma omp for
      for (std::int64_t i = 0; i < a.rows; ++i) {
        std::fill(sum.begin(), sum.end(), Accumulator<T>(0));
        for (std::int64_t e = row_ptr[i]; e < row_ptr[i + 1]; ++e) sum[col[e]] += w ? load(w[e]) : 1;
        for (std::int64_t j = 0; j < a.cols; ++j) out[i * a.cols + j] = T(sum[j]);
      }
    }
  });
}

}  // namespace rodeo::kernels::cpu
