// Adam and AdamW for up to 32 parameters in one launch (ops/optim.h).
#include "ops/cuda/dense/many_tensors.cuh"
#include "ops/kernels/optim.h"

namespace rodeo::kernels::cuda {
namespace {

using many_tensors::kElements;
using many_tensors::kThreads;

template <class T>
struct AdamTensor {
  T* p;
  const T* g;
  T *m, *v;
  const std::int64_t* rows;  // those that g has; null: all
  std::int64_t size;         // of g
  double beta1, beta2;
  T eps, decay;
  double decoupled;             // weight decay of AdamW
  std::uint32_t width;          // columns of p, where g has rows
  std::uint32_t num_rows : 31;  // of p, where g has rows
  std::uint32_t lazy : 1;       // elements without a gradient are not even read
  std::int64_t* steps;          // taken so far
  const double* lr;
};

// Grid and block: many_tensors.cuh.
template <class T>
__global__ void adam_kernel(const many_tensors::Args<AdamTensor<T>> args) {
  __shared__ T rate, correction, keep;
  const int at = many_tensors::tensor_of_block(args);
  const AdamTensor<T>& a = args.tensor[at];
  const std::int64_t first = many_tensors::first_element(args, at);
  const auto place = [&](std::int64_t i) -> std::int64_t {  // of element i of g in p; -1: nowhere
    if (!a.rows) return i;
    const std::int64_t k = quotient(i, a.width), row = a.rows[k];
    return row >= 0 && row < a.num_rows ? row * a.width + (i - k * a.width) : -1;
  };
  std::int64_t to[kElements];
  T p[kElements], g[kElements], m[kElements], v[kElements];  // loads overlap with the powers below
  if (a.lazy) {
#pragma unroll
    for (int k = 0; k < kElements; ++k)
      if (const std::int64_t i = first + k * kThreads; i < a.size) g[k] = a.g[i], to[k] = place(i);
#pragma unroll
    for (int k = 0; k < kElements; ++k)
      if (const std::int64_t i = first + k * kThreads; i < a.size && g[k] != 0 && to[k] >= 0)
        p[k] = a.p[to[k]], m[k] = a.m[to[k]], v[k] = a.v[to[k]];
  } else {
#pragma unroll
    for (int k = 0; k < kElements; ++k)
      if (const std::int64_t i = first + k * kThreads; i < a.size)
        p[k] = a.p[i], g[k] = a.g[i], m[k] = a.m[i], v[k] = a.v[i], to[k] = i;
  }
  if (args.count > 0 && threadIdx.x % kWarp == 0 && threadIdx.x < 2 * kWarp) {
    const double t = static_cast<double>(*a.steps + 1);
    if (threadIdx.x == 0) {
      rate = static_cast<T>(*a.lr / (1 - pow(a.beta1, t)));
      keep = static_cast<T>(1 - *a.lr * a.decoupled);
    } else {
      correction = static_cast<T>(1 / sqrt(1 - pow(a.beta2, t)));
    }
  }
  __syncthreads();
  const T b1 = static_cast<T>(a.beta1), b2 = static_cast<T>(a.beta2);
#pragma unroll
  for (int k = 0; k < kElements; ++k) {
    const std::int64_t i = first + k * kThreads;
    if (i >= a.size) break;
    if (a.lazy && (g[k] == 0 || to[k] < 0)) continue;
    const T grad = g[k] + a.decay * p[k];
    m[k] = b1 * m[k] + (1 - b1) * grad;
    v[k] = b2 * v[k] + (1 - b2) * grad * grad;
    a.m[to[k]] = m[k];
    a.v[to[k]] = v[k];
    a.p[to[k]] = keep * p[k] - rate * m[k] / (sqrt(v[k]) * correction + a.eps);
  }
  many_tensors::count_steps(args);
}

}  // namespace

void adam_step(const std::vector<AdamUpdate>& updates, const Tensor& steps, const Tensor& lr) {
  many_tensors::for_each_dtype(updates, steps, [&]<class T>(T, const auto& some, std::int64_t* calls) {
    many_tensors::launch_all("adam_step", adam_kernel<T>, lr.device(), some, calls,
                             [&](const AdamUpdate& u) -> AdamTensor<T> {
                               const AdamOptions& o = u.options;
                               const bool rows_of_g = u.rows.defined();
                               return {.p = u.p.data<T>(),
                                       .g = u.g.data<T>(),
                                       .m = u.m.data<T>(),
                                       .v = u.v.data<T>(),
                                       .rows = rows_of_g ? u.rows.data<std::int64_t>() : nullptr,
                                       .size = u.g.numel(),
                                       .beta1 = o.beta1,
                                       .beta2 = o.beta2,
                                       .eps = static_cast<T>(o.eps),
                                       .decay = static_cast<T>(o.decoupled ? 0 : o.weight_decay),
                                       .decoupled = o.decoupled ? o.weight_decay : 0,
                                       .width = rows_of_g ? static_cast<std::uint32_t>(u.p.dim(1)) : 0,
                                       .num_rows = rows_of_g ? static_cast<std::uint32_t>(u.p.dim(0)) : 0,
                                       .lazy = o.lazy,
                                       .steps = steps.data<std::int64_t>() + u.slot,
                                       .lr = lr.data<double>() + u.slot};
                             });
  });
}

}  // namespace rodeo::kernels::cuda
