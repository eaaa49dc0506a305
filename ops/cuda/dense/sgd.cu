// Gradient descent with momentum for up to 32 parameters in one launch (ops/optim.h).
#include "ops/cuda/dense/many_tensors.cuh"
#include "ops/kernels/optim.h"

namespace rodeo::kernels::cuda {
namespace {

using many_tensors::kElements;
using many_tensors::kThreads;

template <class T>
struct SgdTensor {
  T* p;
  const T* g;
  T* m;  // null: no momentum
  std::int64_t size;
  T momentum, decay;
  bool nesterov;
  std::int64_t* steps;
  const double* lr;
};

// Grid and block: many_tensors.cuh.
template <class T>
__global__ void sgd_kernel(const many_tensors::Args<SgdTensor<T>> args) {
  const int at = many_tensors::tensor_of_block(args);
  const SgdTensor<T>& a = args.tensor[at];
  const std::int64_t first = many_tensors::first_element(args, at);
  T p[kElements], g[kElements], m[kElements];
#pragma unroll
  for (int k = 0; k < kElements; ++k)
    if (const std::int64_t i = first + k * kThreads; i < a.size)
      p[k] = a.p[i], g[k] = a.g[i], m[k] = a.m ? a.m[i] : T(0);
  const T rate = args.count > 0 ? static_cast<T>(*a.lr) : T(0);
#pragma unroll
  for (int k = 0; k < kElements; ++k) {
    const std::int64_t i = first + k * kThreads;
    if (i >= a.size) break;
    const T grad = g[k] + a.decay * p[k];
    T step = grad;
    if (a.m) {
      m[k] = a.momentum * m[k] + grad;
      a.m[i] = m[k];
      step = a.nesterov ? grad + a.momentum * m[k] : m[k];
    }
    a.p[i] = p[k] - rate * step;
  }
  many_tensors::count_steps(args);
}

}  // namespace

void sgd_step(const std::vector<SgdUpdate>& updates, const Tensor& steps, const Tensor& lr) {
  many_tensors::for_each_dtype(updates, steps, [&]<class T>(T, const auto& some, std::int64_t* calls) {
    many_tensors::launch_all("sgd_step", sgd_kernel<T>, lr.device(), some, calls,
                             [&](const SgdUpdate& u) -> SgdTensor<T> {
                               return {.p = u.p.data<T>(),
                                       .g = u.g.data<T>(),
                                       .m = u.m.defined() ? u.m.data<T>() : nullptr,
                                       .size = u.p.numel(),
                                       .momentum = static_cast<T>(u.options.momentum),
                                       .decay = static_cast<T>(u.options.weight_decay),
                                       .nesterov = u.options.nesterov,
                                       .steps = steps.data<std::int64_t>() + u.slot,
                                       .lr = lr.data<double>() + u.slot};
                             });
  });
}

}  // namespace rodeo::kernels::cuda
