#include <cmath>

#include "ops/cpu/loops.h"
#include "ops/kernels/optim.h"

namespace rodeo::kernels::cpu {

void sum_squares(const std::vector<Tensor>& xs, const Tensor& out) {
  constexpr std::int64_t kChunk = 4096;  // the same sums whatever the number of threads
  double total = 0;
  for (const Tensor& x : xs) {
    const std::int64_t n = x.numel(), chunks = (n + kChunk - 1) / kChunk;
    std::vector<double> sums(static_cast<std::size_t>(chunks));
    dispatch_float(x.dtype(), "sum_squares", [&]<class T>(T) {
      const T* from = x.data<T>();
#pragma omp parallel for if (n > kSerial)
      for (std::int64_t c = 0; c < chunks; ++c) {
        double sum = 0;
        for (std::int64_t i = c * kChunk; i < std::min(n, (c + 1) * kChunk); ++i) {
          const double value = load(from[i]);
          sum += value * value;
        }
        sums[static_cast<std::size_t>(c)] = sum;
      }
    });
    for (const double sum : sums) total += sum;
  }
  *out.data<double>() = total;
}

void scale_to_norm(const std::vector<Tensor>& xs, const Tensor& squares, double max_norm,
                   const std::vector<Tensor>& ys) {
  const double factor = max_norm / (std::sqrt(*squares.data<double>()) + 1e-6);
  for (std::size_t k = 0; k < xs.size(); ++k) {
    const auto run = [&]<class T>(T) {
      const T* x = xs[k].data<T>();
      T* y = ys[k].data<T>();
      const T by = factor > 1 ? T(1) : T(factor);  // a NaN stays
      for_each_element(xs[k].numel(), [=](std::int64_t i) { y[i] = x[i] * by; });
    };
    if (xs[k].dtype() == DType::kF64)
      run(double{});
    else
      run(float{});
  }
}

}  // namespace rodeo::kernels::cpu
