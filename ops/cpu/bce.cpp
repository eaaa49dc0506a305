#include <cmath>

#include "ops/cpu/loops.h"
#include "ops/kernels.h"

namespace rodeo::kernels::cpu {

void bce_with_logits(const Tensor& x, const Tensor& target, const Tensor& index, const Tensor& loss) {
  dispatch_float(x.dtype(), "bce_with_logits", [&]<class T>(T) {
    const T* xp = x.data<T>();
    const auto* t = target.data<std::uint8_t>();
    const auto* idx = index.data<std::int64_t>();
    const std::int64_t k = index.numel(), c = x.dim(1);
    std::vector<double> of_row(static_cast<std::size_t>(k));
    for_each_row(k, c, [&](std::int64_t i) {
      double sum = 0;
      for (std::int64_t j = 0; j < c; ++j) {
        const std::int64_t at = idx[i] * c + j;
        const auto v = static_cast<double>(load(xp[at]));
        sum += std::fmax(v, 0.0) - (t[at] ? v : 0.0) + std::log1p(std::exp(-std::fabs(v)));
        if (v != v) sum = v;  // fmax drops it
      }
      of_row[i] = sum;
    });
    double sum = 0;
    for (const double row : of_row) sum += row;
    *loss.data<T>() = T(static_cast<Accumulator<T>>(sum / (static_cast<double>(k) * static_cast<double>(c))));
  });
}

void bce_with_logits_backward(const Tensor& dloss, const Tensor& x, const Tensor& target, const Tensor& index,
                              const Tensor& dx) {
  dx.fill(0);
  dispatch_float(x.dtype(), "bce_with_logits", [&]<class T>(T) {
    using A = Accumulator<T>;
    const T* xp = x.data<T>();
    T* dxp = dx.data<T>();
    const auto* t = target.data<std::uint8_t>();
    const auto* idx = index.data<std::int64_t>();
    const std::int64_t k = index.numel(), c = x.dim(1);
    const A scale = load(*dloss.data<T>()) / (static_cast<A>(k) * static_cast<A>(c));
    for (std::int64_t i = 0; i < k; ++i)  // a node may come twice: one thread
      for (std::int64_t at = idx[i] * c; at < (idx[i] + 1) * c; ++at) {
        const A sigmoid = 1 / (1 + std::exp(-load(xp[at])));
        dxp[at] = T(load(dxp[at]) + scale * (sigmoid - t[at]));
      }
  });
}

LabelCounts count_labels(const Tensor& x, const Tensor& target, const Tensor& index) {
  return dispatch_float(x.dtype(), "micro_f1", [&]<class T>(T) {
    const T* xp = x.data<T>();
    const auto* t = target.data<std::uint8_t>();
    const auto* idx = index.data<std::int64_t>();
    const std::int64_t c = x.dim(1);
    std::int64_t right = 0, predicted = 0, actual = 0;
#pragma omp parallel for reduction(+ : right, predicted, actual) if (index.numel() * c > kSerial)
    for (std::int64_t i = 0; i < index.numel(); ++i)
      for (std::int64_t at = idx[i] * c; at < (idx[i] + 1) * c; ++at) {
        const bool yes = load(xp[at]) > 0, wanted = t[at] != 0;
        right += yes && wanted, predicted += yes, actual += wanted;
      }
    return LabelCounts{right, predicted, actual};
  });
}

}  // namespace rodeo::kernels::cpu
