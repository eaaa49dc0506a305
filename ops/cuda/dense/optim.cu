// Adam for up to kMaxTensors parameters in one launch (ops/optim.h).
#include "ops/cuda/device/last_block.cuh"
#include "ops/kernels/optim.h"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kElements = 4;     // of a thread
constexpr int kMaxTensors = 32;  // of a launch

template <class T>
struct AdamTensor {
  T* p;
  const T* g;
  T *m, *v;
  std::int64_t size;
  double beta1, beta2;
  T eps, decay;
  std::int64_t* steps;  // taken so far
  const double* lr;
};
template <class T>
struct AdamArgs {
  AdamTensor<T> tensor[kMaxTensors];
  std::int64_t first_block[kMaxTensors + 1];
  int count;
  std::int64_t* calls;  // incremented by the last launch of a call; null in the others
  int* arrived;
};
static_assert(sizeof(AdamArgs<double>) <= 4096, "the limit of kernel parameters");

// Consecutive ranges of blocks, of kThreads, update one tensor each. The last block to finish increments the
// step counts, which all blocks have read by then.
template <class T>
__global__ void adam_kernel(const AdamArgs<T> args) {
  __shared__ T rate, correction;
  int at = 0;
  while (at + 1 < args.count && blockIdx.x >= args.first_block[at + 1]) ++at;
  const AdamTensor<T>& a = args.tensor[at];
  const std::int64_t first = (blockIdx.x - args.first_block[at]) * kThreads * kElements + threadIdx.x;
  T p[kElements], g[kElements], m[kElements], v[kElements];  // loads overlap with the powers below
#pragma unroll
  for (int k = 0; k < kElements; ++k)
    if (const std::int64_t i = first + k * kThreads; i < a.size)
      p[k] = a.p[i], g[k] = a.g[i], m[k] = a.m[i], v[k] = a.v[i];
  if (args.count > 0 && threadIdx.x % kWarp == 0 && threadIdx.x < 2 * kWarp) {
    const double t = static_cast<double>(*a.steps + 1);
    if (threadIdx.x == 0)
      rate = static_cast<T>(*a.lr / (1 - pow(a.beta1, t)));
    else
      correction = static_cast<T>(1 / sqrt(1 - pow(a.beta2, t)));
  }
  __syncthreads();
  const T b1 = static_cast<T>(a.beta1), b2 = static_cast<T>(a.beta2);
#pragma unroll
  for (int k = 0; k < kElements; ++k) {
    const std::int64_t i = first + k * kThreads;
    if (i >= a.size) break;
    const T grad = g[k] + a.decay * p[k];
    m[k] = b1 * m[k] + (1 - b1) * grad;
    v[k] = b2 * v[k] + (1 - b2) * grad * grad;
    a.m[i] = m[k];
    a.v[i] = v[k];
    a.p[i] = p[k] - rate * m[k] / (sqrt(v[k]) * correction + a.eps);
  }
  if (!is_last_block(args.arrived, gridDim.x)) return;
  if (threadIdx.x < args.count) ++*args.tensor[threadIdx.x].steps;
  if (threadIdx.x == 0 && args.calls) ++*args.calls;
}

template <class T>
void launch_adam(const std::vector<const AdamUpdate*>& updates, const Tensor& steps, const Tensor& lr,
                 std::int64_t* calls) {
  std::size_t at = 0;
  do {
    AdamArgs<T> args{};
    for (; at < updates.size() && args.count < kMaxTensors; ++at) {
      const AdamUpdate& u = *updates[at];
      const AdamOptions& o = u.options;
      args.tensor[args.count] = {.p = u.p.data<T>(),
                                 .g = u.g.data<T>(),
                                 .m = u.m.data<T>(),
                                 .v = u.v.data<T>(),
                                 .size = u.p.numel(),
                                 .beta1 = o.beta1,
                                 .beta2 = o.beta2,
                                 .eps = static_cast<T>(o.eps),
                                 .decay = static_cast<T>(o.weight_decay),
                                 .steps = steps.data<std::int64_t>() + u.slot,
                                 .lr = lr.data<double>() + u.slot};
      args.first_block[args.count + 1] =
          args.first_block[args.count] + ceil_div(u.p.numel(), kThreads * kElements);
      ++args.count;
    }
    const std::int64_t blocks = args.first_block[args.count];
    args.calls = at == updates.size() ? calls : nullptr;
    args.arrived = Context::of(lr.device()).zeroed_counters(1);
    launch("adam_step", lr.device(), adam_kernel<T>, dim3(static_cast<unsigned>(blocks > 0 ? blocks : 1)),
           kThreads, 0, args);
  } while (at < updates.size());
}

}  // namespace

void adam_step(const std::vector<AdamUpdate>& updates, const Tensor& steps, const Tensor& lr) {
  std::vector<const AdamUpdate*> single, wide;
  for (const AdamUpdate& u : updates) (u.p.dtype() == DType::kF64 ? wide : single).push_back(&u);
  std::int64_t* const calls = steps.data<std::int64_t>() + steps.numel() - 1;
  if (!wide.empty()) launch_adam<double>(wide, steps, lr, single.empty() ? calls : nullptr);
  if (!single.empty() || wide.empty()) launch_adam<float>(single, steps, lr, calls);
}

}  // namespace rodeo::kernels::cuda
