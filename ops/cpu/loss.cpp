#include <cmath>

#include "ops/cpu/loops.h"
#include "ops/kernels.h"

namespace rodeo::kernels::cpu {

void log_softmax(const Tensor& x, const Tensor& y) {
  dispatch_float(x.dtype(), "log_softmax", [&]<class T>(T) {
    const T* xp = x.data<T>();
    T* yp = y.data<T>();
    const std::int64_t c = x.dim(1);
    for_each_row(x.dim(0), c, [=](std::int64_t i) {
      const T* row = xp + i * c;
      auto top = load(row[0]);
      for (std::int64_t j = 1; j < c; ++j) top = std::max(top, load(row[j]));
      decltype(top) sum = 0;
      for (std::int64_t j = 0; j < c; ++j) sum += std::exp(load(row[j]) - top);
      const auto shift = top + std::log(sum);
      for (std::int64_t j = 0; j < c; ++j) yp[i * c + j] = T(load(row[j]) - shift);
    });
  });
}

void log_softmax_backward(const Tensor& y, const Tensor& dy, const Tensor& dx) {
  dispatch_float(y.dtype(), "log_softmax", [&]<class T>(T) {
    const T *yp = y.data<T>(), *dyp = dy.data<T>();
    T* dxp = dx.data<T>();
    const std::int64_t c = y.dim(1);
    for_each_row(y.dim(0), c, [=](std::int64_t i) {
      Accumulator<T> sum = 0;
      for (std::int64_t j = 0; j < c; ++j) sum += load(dyp[i * c + j]);
      for (std::int64_t j = 0; j < c; ++j)
        dxp[i * c + j] = T(load(dyp[i * c + j]) - std::exp(load(yp[i * c + j])) * sum);
    });
  });
}

void nll_loss(const Tensor& logp, const Tensor& label, const Tensor& index, const Tensor& loss) {
  dispatch_float(logp.dtype(), "nll_loss", [&]<class T>(T) {
    const T* lp = logp.data<T>();
    const auto *lab = label.data<std::int64_t>(), *idx = index.data<std::int64_t>();
    double sum = 0;
    for (std::int64_t k = 0; k < index.numel(); ++k) sum -= load(lp[idx[k] * logp.dim(1) + lab[idx[k]]]);
    *loss.data<T>() = T(static_cast<Accumulator<T>>(sum / static_cast<double>(index.numel())));
  });
}

void nll_loss_backward(const Tensor& dloss, const Tensor& label, const Tensor& index, const Tensor& dlogp) {
  dlogp.fill(0);
  dispatch_float(dlogp.dtype(), "nll_loss", [&]<class T>(T) {
    T* dp = dlogp.data<T>();
    const auto *lab = label.data<std::int64_t>(), *idx = index.data<std::int64_t>();
    const auto term = load(*dloss.data<T>()) / static_cast<Accumulator<T>>(index.numel());
    for (std::int64_t k = 0; k < index.numel(); ++k) {
      T& at = dp[idx[k] * dlogp.dim(1) + lab[idx[k]]];
      at = T(load(at) - term);
    }
  });
}

std::int64_t count_correct(const Tensor& scores, const Tensor& label, const Tensor& index) {
  return dispatch_float(scores.dtype(), "accuracy", [&]<class T>(T) {
    const T* sp = scores.data<T>();
    const auto *lab = label.data<std::int64_t>(), *idx = index.data<std::int64_t>();
    const std::int64_t c = scores.dim(1);
    std::int64_t correct = 0;
#pragma omp parallel for reduction(+ : correct) if (index.numel() * c > kSerial)
    for (std::int64_t k = 0; k < index.numel(); ++k) {
      const T* row = sp + idx[k] * c;
      const std::int64_t want = lab[idx[k]];
      const auto own = load(row[want]);
      bool best = true;  // strictly above all before it, at least as high as all after; false for any NaN
      for (std::int64_t j = 0; j < c; ++j)
        best &= j == want || (j < want ? load(row[j]) < own : load(row[j]) <= own);
      correct += best && own == own;
    }
    return correct;
  });
}

}  // namespace rodeo::kernels::cpu
