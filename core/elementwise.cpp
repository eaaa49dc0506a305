#include "core/elementwise.h"

#include <utility>

#include "core/cuda/elementwise.h"
#include "core/kernel_observer.h"

namespace rodeo {
namespace {

// Loops of at most this many elements run on one thread: starting the others takes longer.
constexpr std::int64_t kMaxSerialElements = 16384;

// 16-bit floats have no arithmetic on the host.
template <class T>
auto widen(T value) {
  if constexpr (sizeof(T) == 2)
    return static_cast<float>(value);
  else
    return value;
}

template <class To, class From>
To convert(From value) {
  if constexpr (sizeof(To) == 2)
    return To(static_cast<float>(widen(value)));
  else
    return static_cast<To>(widen(value));
}

/// Runs a kernel and notifies observers.
template <class F>
void run(const char* op, Device device, std::vector<Tensor> operands, F&& kernel) {
  if (!kernels_observed()) return kernel();
  KernelScope observed(op, KernelCategory::kOther, device, std::move(operands));
  kernel();
  observed.done();
}

}  // namespace

Tensor Tensor::to(DType dtype) const {
  if (!defined() || dtype == dtype_) return *this;
  const Tensor out = empty(shape_, dtype, device_);
  run("cast", device_, {*this, out}, [&] {
    if (device_.is_cuda()) return cuda::cast(*this, out);
    dispatch_all(dtype_, [&]<class From>(From) {
      dispatch_all(dtype, [&]<class To>(To) {
        const From* x = data<From>();
        To* y = out.data<To>();
#pragma omp parallel for if (numel() > kMaxSerialElements)
        for (std::int64_t i = 0; i < numel(); ++i) y[i] = convert<To>(x[i]);
      });
    });
  });
  return out;
}

void Tensor::fill(double value) const {
  check(defined(), "[fill] of an undefined tensor");
  run("fill", device_, {*this}, [&] {
    if (device_.is_cuda()) return cuda::fill(*this, value);
    dispatch_all(dtype_, [&]<class T>(T) {
      const T converted = convert<T>(value);
      T* out = data<T>();
#pragma omp parallel for if (numel() > kMaxSerialElements)
      for (std::int64_t i = 0; i < numel(); ++i) out[i] = converted;
    });
  });
}

namespace {

void add_to(const Tensor& a, const Tensor& b, const Tensor& out) {
  run("add", a.device(), {a, b, out}, [&] {
    if (a.device().is_cuda()) return cuda::add(a, b, out);
    dispatch_all(a.dtype(), [&]<class T>(T) {
      const T *x = a.data<T>(), *y = b.data<T>();
      T* z = out.data<T>();
#pragma omp parallel for if (out.numel() > kMaxSerialElements)
      for (std::int64_t i = 0; i < out.numel(); ++i) z[i] = convert<T>(widen(x[i]) + widen(y[i]));
    });
  });
}

void check_sum(const Tensor& a, const Tensor& b) {
  check(a.shape() == b.shape() && a.dtype() == b.dtype() && a.device() == b.device(), "[add] a is ",
        a.dtype(), " ", a.shape(), " on ", a.device(), ", b must be the same, got ", b.dtype(), " ",
        b.shape(), " on ", b.device());
}

}  // namespace

Tensor add_tensors(const Tensor& a, const Tensor& b) {
  check_sum(a, b);
  const Tensor out = Tensor::empty(a.shape(), a.dtype(), a.device());
  add_to(a, b, out);
  return out;
}

void add_in_place(const Tensor& sum, const Tensor& term) {
  check_sum(sum, term);
  add_to(sum, term, sum);
}

}  // namespace rodeo
