#include <cmath>

#include "ops/cpu/loops.h"
#include "ops/kernels/loss.h"

namespace rodeo::kernels::cpu {

namespace {

/// The sum of the terms of all labels of a node.
template <class T>
double row_loss(const T* x, const std::uint8_t* target, std::int64_t c) {
  double sum = 0;
  for (std::int64_t j = 0; j < c; ++j) {
    const auto v = static_cast<double>(load(x[j]));
    const double term = std::fmax(v, 0.0) - (target[j] ? v : 0.0) + std::log1p(std::exp(-std::fabs(v)));
    sum += v != v ? v : term;  // fmax drops a NaN
  }
  return sum;
}

template <class T>
double mean_loss(const Tensor& x, const Tensor& target, const Tensor& index) {
  const auto* idx = index.data<std::int64_t>();
  const std::int64_t k = index.numel(), c = x.dim(1);
  std::vector<double> of_row(static_cast<std::size_t>(k));
  for_each_row(k, c, [&](std::int64_t i) {
    of_row[i] = row_loss(x.data<T>() + idx[i] * c, target.data<std::uint8_t>() + idx[i] * c, c);
  });
  double sum = 0;
  for (const double row : of_row) sum += row;
  return sum / (static_cast<double>(k) * static_cast<double>(c));
}

}  // namespace

void bce_with_logits(const Tensor& x, const Tensor& target, const Tensor& index, const Tensor& loss) {
  dispatch_float(x.dtype(), "bce_with_logits", [&]<class T>(T) {
    *loss.data<Accumulator<T>>() = static_cast<Accumulator<T>>(mean_loss<T>(x, target, index));
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
    const A scale = *dloss.data<A>() / (static_cast<A>(k) * static_cast<A>(c));
    for (std::int64_t i = 0; i < k; ++i)  // a node may come twice: one thread
      for (std::int64_t at = idx[i] * c; at < (idx[i] + 1) * c; ++at) {
        const A sigmoid = 1 / (1 + std::exp(-load(xp[at])));
        dxp[at] = T(load(dxp[at]) + scale * (sigmoid - t[at]));
      }
  });
}

void label_metrics(const Tensor& x, const Tensor& target, const Tensor& index, const Tensor& metrics) {
  metrics.fill(0);
  if (index.numel() == 0) return;
  dispatch_float(x.dtype(), "label_metrics", [&]<class T>(T) {
    const T* xp = x.data<T>();
    const auto* t = target.data<std::uint8_t>();
    const auto* idx = index.data<std::int64_t>();
    const std::int64_t c = x.dim(1);
    std::int64_t right = 0, either = 0;  // either: predicted and actual labels together
#pragma omp parallel for reduction(+ : right, either) if (index.numel() * c > kSerial)
    for (std::int64_t i = 0; i < index.numel(); ++i)
      for (std::int64_t at = idx[i] * c; at < (idx[i] + 1) * c; ++at) {
        const bool yes = load(xp[at]) > 0, wanted = t[at] != 0;
        right += yes && wanted, either += yes + wanted;
      }
    auto* out = metrics.data<double>();
    if (right > 0) out[0] = 2 * static_cast<double>(right) / static_cast<double>(either);
    out[1] = mean_loss<T>(x, target, index);
  });
}

}  // namespace rodeo::kernels::cpu
