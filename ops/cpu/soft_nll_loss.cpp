#include "ops/cpu/loops.h"
#include "ops/kernels/loss.h"

namespace rodeo::kernels::cpu {

void soft_nll_loss(const Tensor& logp, const Tensor& target, const Tensor& loss) {
  dispatch_float(logp.dtype(), "soft_nll_loss", [&]<class T>(T) {
    const T *p = logp.data<T>(), *t = target.data<T>();
    double sum = 0;
    for (std::int64_t i = 0; i < logp.numel(); ++i)
      if (load(t[i]) != 0) sum -= static_cast<double>(load(t[i])) * load(p[i]);
    *loss.data<T>() = T(static_cast<Accumulator<T>>(sum));
  });
}

void soft_nll_loss_backward(const Tensor& dloss, const Tensor& target, const Tensor& dlogp) {
  dispatch_float(target.dtype(), "soft_nll_loss", [&]<class T>(T) {
    const T* t = target.data<T>();
    T* d = dlogp.data<T>();
    const auto scale = -load(*dloss.data<T>());
    for_each_element(target.numel(), [=](std::int64_t i) { d[i] = T(scale * load(t[i])); });
  });
}

}  // namespace rodeo::kernels::cpu
