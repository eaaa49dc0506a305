#include <cmath>

#include "ops/cpu/loops.h"
#include "ops/kernels/optim.h"

namespace rodeo::kernels::cpu {

void adam_step(const std::vector<AdamUpdate>& updates, const Tensor& steps, const Tensor& lr) {
  std::int64_t* taken = steps.data<std::int64_t>();
  for (const AdamUpdate& u : updates) {
    const AdamOptions& o = u.options;
    const auto t = static_cast<double>(++taken[u.slot]);
    const double rate64 = lr.data<double>()[u.slot] / (1 - std::pow(o.beta1, t));
    const double keep64 = o.decoupled ? 1 - lr.data<double>()[u.slot] * o.weight_decay : 1;
    const double correction64 = 1 / std::sqrt(1 - std::pow(o.beta2, t));
    const auto run = [&]<class T>(T) {
      T *p = u.p.data<T>(), *m = u.m.data<T>(), *v = u.v.data<T>();
      const T* g = u.g.data<T>();
      const T b1 = T(o.beta1), b2 = T(o.beta2), eps = T(o.eps), decay = T(o.decoupled ? 0 : o.weight_decay),
              keep = T(keep64), rate = T(rate64), correction = T(correction64);
      const bool lazy = o.lazy;
      const auto update = [=](T of_g, std::int64_t i) {
        if (lazy && of_g == 0) return;
        const T grad = of_g + decay * p[i];
        m[i] = b1 * m[i] + (1 - b1) * grad;
        v[i] = b2 * v[i] + (1 - b2) * grad * grad;
        p[i] = keep * p[i] - rate * m[i] / (std::sqrt(v[i]) * correction + eps);
      };
      if (!u.rows.defined()) return for_each_element(u.p.numel(), [=](std::int64_t i) { update(g[i], i); });
      const auto* rows = u.rows.data<std::int64_t>();
      const std::int64_t n = u.p.dim(1);
      for_each_row(u.rows.numel(), n, [=](std::int64_t k) {
        for (std::int64_t j = 0; j < n; ++j) update(g[k * n + j], rows[k] * n + j);
      });
    };
    if (u.p.dtype() == DType::kF64)
      run(double{});
    else
      run(float{});
  }
  ++taken[steps.numel() - 1];
}

void sgd_step(const std::vector<SgdUpdate>& updates, const Tensor& steps, const Tensor& lr) {
  std::int64_t* taken = steps.data<std::int64_t>();
  for (const SgdUpdate& u : updates) {
    ++taken[u.slot];
    const auto run = [&]<class T>(T) {
      T *p = u.p.data<T>(), *m = u.m.defined() ? u.m.data<T>() : nullptr;
      const T* g = u.g.data<T>();
      const T momentum = T(u.options.momentum), decay = T(u.options.weight_decay),
              rate = T(lr.data<double>()[u.slot]);
      const bool nesterov = u.options.nesterov;
      for_each_element(u.p.numel(), [=](std::int64_t i) {
        T step = g[i] + decay * p[i];
        if (m) {
          const T grad = step;
          m[i] = momentum * m[i] + grad;
          step = nesterov ? grad + momentum * m[i] : m[i];
        }
        p[i] -= rate * step;
      });
    };
    if (u.p.dtype() == DType::kF64)
      run(double{});
    else
      run(float{});
  }
  ++taken[steps.numel() - 1];
}

}  // namespace rodeo::kernels::cpu
