// Loss against a distribution over the classes, and its gradient (ops/soft_cross_entropy.h).
#include "ops/cuda/device/block_sum.cuh"
#include "ops/cuda/device/pack.cuh"
#include "ops/cuda/device/tensor_data.cuh"
#include "ops/kernels/loss.h"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kParts = 256;  // blocks of the first pass and threads of the second: fixes the order of sums

// Grid kParts, block kThreads, grid-stride over the elements.
template <class T>
__global__ void soft_nll_parts_kernel(const T* logp, const T* target, std::int64_t size, double* parts) {
  double sum = 0;
  RODEO_GRID_STRIDE(i, size) {
    const double t = widen(target[i]);
    if (t != 0) sum -= t * static_cast<double>(widen(logp[i]));
  }
  sum = block_sum<kThreads>(sum);
  if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}

// One block of kParts threads.
template <class T>
__global__ void soft_nll_total_kernel(const double* parts, T* loss) {
  const double sum = block_sum<kParts>(parts[threadIdx.x]);
  if (threadIdx.x == 0) *loss = static_cast<T>(static_cast<Accumulator<T>>(sum));
}

// Grid grid_for(size, kThreads), block kThreads, one thread an element.
template <class T>
__global__ void soft_nll_backward_kernel(const T* dloss, const T* target, std::int64_t size, T* dlogp) {
  const Accumulator<T> scale = -widen(*dloss);
  RODEO_GRID_STRIDE(i, size) dlogp[i] = static_cast<T>(scale * widen(target[i]));
}

}  // namespace

void soft_nll_loss(const Tensor& logp, const Tensor& target, const Tensor& loss) {
  const Tensor parts = Tensor::empty({kParts}, DType::kF64, logp.device());
  dispatch_float(logp.dtype(), "soft_nll_loss", [&]<class Host>(Host) {
    using T = device_t<Host>;
    launch("soft_nll_loss", logp.device(), soft_nll_parts_kernel<T>, dim3(kParts), kThreads, 0,
           device_data<T>(logp), device_data<T>(target), logp.numel(), parts.data<double>());
    launch("soft_nll_loss", logp.device(), soft_nll_total_kernel<T>, dim3(1), kParts, 0, parts.data<double>(),
           device_data<T>(loss));
  });
}

void soft_nll_loss_backward(const Tensor& dloss, const Tensor& target, const Tensor& dlogp) {
  dispatch_float(target.dtype(), "soft_nll_loss", [&]<class Host>(Host) {
    using T = device_t<Host>;
    launch("soft_nll_loss_backward", target.device(), soft_nll_backward_kernel<T>,
           grid_for(target.numel(), kThreads), kThreads, 0, device_data<T>(dloss), device_data<T>(target),
           target.numel(), device_data<T>(dlogp));
  });
}

}  // namespace rodeo::kernels::cuda
