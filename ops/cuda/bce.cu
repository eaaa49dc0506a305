#include <cmath>

#include "ops/cuda/pack.cuh"
#include "ops/kernels.h"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kParts = 512;  // blocks of the first pass, threads of the second: a fixed order of summation

static_assert((kThreads & (kThreads - 1)) == 0 && (kParts & (kParts - 1)) == 0, "trees halve");

template <int threads>
__device__ double block_sum(double value) {
  __shared__ double shared[threads];
  shared[threadIdx.x] = value;
  for (int half = threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
  }
  return shared[0];  // of thread 0 alone
}

// Block b sums the labels b kThreads + thread, and so on in steps of the whole grid.
template <class T>
__global__ void bce_parts_kernel(const T* x, const std::uint8_t* target, const std::int64_t* index,
                                 std::int64_t c, std::int64_t count, double* parts) {
  double sum = 0;
  RODEO_GRID_STRIDE(i, count) {
    const std::int64_t at = index[i / c] * c + i % c;
    const double v = widen(x[at]);
    const double term = fmax(v, 0.0) - (target[at] ? v : 0.0) + log1p(exp(-fabs(v)));
    sum += v != v ? v : term;  // fmax drops a NaN
  }
  sum = block_sum<kThreads>(sum);
  if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}

// One block adds the parts up.
template <class T>
__global__ void bce_total_kernel(const double* parts, double labels, T* loss) {
  const double sum = block_sum<kParts>(parts[threadIdx.x]);
  if (threadIdx.x == 0) *loss = static_cast<T>(static_cast<Accumulator<T>>(sum / labels));
}

// One thread per label. A node named m times gets m equal terms, which any order adds up to the same.
template <class T>
__global__ void bce_backward_kernel(const T* dloss, const T* x, const std::uint8_t* target,
                                    const std::int64_t* index, std::int64_t c, std::int64_t count, T* dx) {
  using A = Accumulator<T>;
  const A scale = widen(*dloss) / (static_cast<A>(count / c) * static_cast<A>(c));
  RODEO_GRID_STRIDE(i, count) {
    const std::int64_t at = index[i / c] * c + i % c;
    const A sigmoid = 1 / (1 + exp(-widen(x[at])));
    atomicAdd(dx + at, static_cast<T>(scale * (sigmoid - static_cast<A>(target[at]))));
  }
}

// One thread per label; whole numbers add up to the same in any order.
template <class T>
__global__ void count_labels_kernel(const T* x, const std::uint8_t* target, const std::int64_t* index,
                                    std::int64_t c, std::int64_t count, unsigned long long* counts) {
  unsigned long long right = 0, predicted = 0, actual = 0;
  RODEO_GRID_STRIDE(i, count) {
    const std::int64_t at = index[i / c] * c + i % c;
    const bool yes = widen(x[at]) > 0, wanted = target[at] != 0;
    right += yes && wanted, predicted += yes, actual += wanted;
  }
#pragma unroll
  for (int offset = kWarp / 2; offset > 0; offset /= 2) {
    right += __shfl_xor_sync(kFullMask, right, offset);
    predicted += __shfl_xor_sync(kFullMask, predicted, offset);
    actual += __shfl_xor_sync(kFullMask, actual, offset);
  }
  if (threadIdx.x % kWarp == 0) {
    atomicAdd(counts, right);
    atomicAdd(counts + 1, predicted);
    atomicAdd(counts + 2, actual);
  }
}

template <class T>
auto* pointer(const Tensor& t) {
  return static_cast<device_t<T>*>(t.raw());
}

}  // namespace

void bce_with_logits(const Tensor& x, const Tensor& target, const Tensor& index, const Tensor& loss) {
  const Tensor parts = Tensor::empty({kParts}, DType::kF64, x.device());
  const std::int64_t count = index.numel() * x.dim(1);
  dispatch_float(x.dtype(), "bce_with_logits", [&]<class T>(T) {
    launch("bce_with_logits", x.device(), bce_parts_kernel<device_t<T>>, dim3(kParts), kThreads, 0,
           pointer<T>(x), target.data<std::uint8_t>(), index.data<std::int64_t>(), x.dim(1), count,
           parts.data<double>());
    launch("bce_with_logits", x.device(), bce_total_kernel<device_t<T>>, dim3(1), kParts, 0,
           parts.data<double>(), static_cast<double>(count), pointer<T>(loss));
  });
}

void bce_with_logits_backward(const Tensor& dloss, const Tensor& x, const Tensor& target, const Tensor& index,
                              const Tensor& dx) {
  dx.fill(0);
  const std::int64_t count = index.numel() * x.dim(1);
  dispatch_float(x.dtype(), "bce_with_logits", [&]<class T>(T) {
    launch("bce_with_logits_backward", x.device(), bce_backward_kernel<device_t<T>>,
           grid_for(count, kThreads), kThreads, 0, pointer<T>(dloss), pointer<T>(x),
           target.data<std::uint8_t>(), index.data<std::int64_t>(), x.dim(1), count, pointer<T>(dx));
  });
}

LabelCounts count_labels(const Tensor& x, const Tensor& target, const Tensor& index) {
  const Tensor counts = Tensor::zeros({3}, DType::kI64, x.device());
  const std::int64_t count = index.numel() * x.dim(1);
  dispatch_float(x.dtype(), "micro_f1", [&]<class T>(T) {
    launch("micro_f1", x.device(), count_labels_kernel<device_t<T>>, grid_for(count, kThreads), kThreads, 0,
           pointer<T>(x), target.data<std::uint8_t>(), index.data<std::int64_t>(), x.dim(1), count,
           reinterpret_cast<unsigned long long*>(counts.data<std::int64_t>()));
  });
  const std::vector<std::int64_t> v = counts.to_vector<std::int64_t>();
  return {v[0], v[1], v[2]};
}

}  // namespace rodeo::kernels::cuda
