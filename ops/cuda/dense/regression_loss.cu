// Mean squared and mean absolute error (ops/regression_loss.h).
#include <cmath>

#include "core/cuda/index_fault.cuh"
#include "ops/cuda/device/block_sum.cuh"
#include "ops/cuda/device/pack.cuh"
#include "ops/cuda/device/tensor_data.cuh"
#include "ops/kernels/loss.h"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kParts = 512;  // blocks of the first pass and threads of the second: fixes the order of sums

// The elements that count: those of the rows in index, or all where index is null.
struct Elements {
  const std::int64_t* index;
  std::int64_t rows, c, count;

  /// The position in x of element i of `count`, or -1 for a row out of range; `row` is its place in index.
  __device__ std::int64_t place(std::int64_t i, std::int64_t& row) const {
    row = 0;
    if (!index) return i;
    row = quotient(i, c);
    const std::int64_t node = index[row];
    return node < 0 || node >= rows ? -1 : node * c + (i - row * c);
  }
};

// Grid kParts, block kThreads, grid-stride over the elements.
template <class T>
__global__ void regression_parts_kernel(Difference difference, const T* x, const T* target, Elements elements,
                                        double* parts, IndexCheck check) {
  double sum = 0;
  RODEO_GRID_STRIDE(i, elements.count) {
    std::int64_t row;
    const std::int64_t at = elements.place(i, row);
    if (at < 0) {
      is_index(elements.index[row], elements.rows, row, check);  // reports it
      sum = NAN;
      continue;
    }
    const double d = static_cast<double>(widen(x[at])) - static_cast<double>(widen(target[at]));
    sum += difference == Difference::kSquare ? d * d : fabs(d);
  }
  sum = block_sum<kThreads>(sum);
  if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}

// Adds the parts. One block of kParts threads.
template <class Value>
__global__ void regression_total_kernel(const double* parts, double count, Value* loss) {
  const double sum = block_sum<kParts>(parts[threadIdx.x]);
  if (threadIdx.x == 0) *loss = static_cast<Value>(sum / count);
}

// The derivative of the term of a difference d.
template <class A>
__device__ A slope(Difference difference, A d) {
  return difference == Difference::kSquare ? 2 * d : d == 0 || d != d ? d : copysign(A{1}, d);
}

// One thread per element, grid-stride. Without index each element of dx is written once. With one, dx is zero
// before; a node that occurs m times gets m equal terms, so the order of the atomics does not change the sum.
// The forward kernel has reported nodes out of range.
template <class T>
__global__ void regression_backward_kernel(Difference difference, const Accumulator<T>* dloss, const T* x,
                                           const T* target, Elements elements, T* dx) {
  using A = Accumulator<T>;
  const A scale = *dloss / (static_cast<A>(elements.count / elements.c) * static_cast<A>(elements.c));
  RODEO_GRID_STRIDE(i, elements.count) {
    std::int64_t row;
    const std::int64_t at = elements.place(i, row);
    if (at < 0) continue;
    const T term = static_cast<T>(scale * slope<A>(difference, widen(x[at]) - widen(target[at])));
    if (elements.index)
      atomicAdd(dx + at, term);
    else
      dx[at] = term;
  }
}

Elements elements_of(const Tensor& x, const Tensor& index) {
  const std::int64_t c = x.rank() == 2 ? x.dim(1) : 1;
  return {static_cast<const std::int64_t*>(index.raw()), x.dim(0), c,
          (index.defined() ? index.numel() : x.dim(0)) * c};
}

}  // namespace

void regression_loss(Difference difference, const Tensor& x, const Tensor& target, const Tensor& index,
                     const Tensor& loss) {
  const Elements elements = elements_of(x, index);
  const Tensor parts = Tensor::empty({kParts}, DType::kF64, x.device());
  dispatch_float(x.dtype(), "regression_loss", [&]<class T>(T) {
    using A = Accumulator<device_t<T>>;
    launch("regression_loss", x.device(), regression_parts_kernel<device_t<T>>, dim3(kParts), kThreads, 0,
           difference, device_data<T>(x), device_data<T>(target), elements, parts.data<double>(),
           index_check(x.device(), difference == Difference::kSquare ? "mse_loss" : "l1_loss", "index"));
    launch("regression_loss", x.device(), regression_total_kernel<A>, dim3(1), kParts, 0,
           parts.data<double>(), static_cast<double>(elements.count), loss.data<A>());
  });
}

void regression_loss_backward(Difference difference, const Tensor& dloss, const Tensor& x,
                              const Tensor& target, const Tensor& index, const Tensor& dx) {
  if (index.defined()) dx.fill(0);
  const Elements elements = elements_of(x, index);
  dispatch_float(x.dtype(), "regression_loss", [&]<class T>(T) {
    launch("regression_loss_backward", x.device(), regression_backward_kernel<device_t<T>>,
           grid_for(elements.count, kThreads), kThreads, 0, difference,
           dloss.data<Accumulator<device_t<T>>>(), device_data<T>(x), device_data<T>(target), elements,
           device_data<T>(dx));
  });
}

}  // namespace rodeo::kernels::cuda
