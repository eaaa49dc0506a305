/// What the headers of kernel families are made of: RODEO_KERNEL declares one kernel of both backends, and
/// kernels::NAME.on(device)(arguments...) calls it. The only place that knows whether CUDA is built in.
/// Kernels trust their arguments: shapes, dtypes and devices have been checked, outputs are allocated and not
/// initialised, and no tensor is empty unless said so. They overwrite their outputs whole.
/// What is small beside a matrix of 16-bit floats is f32, else of the matrix's dtype ("the sums' dtype"):
/// biases, scales of rows and columns, the vectors of heads, their gradients, sums of rows, and losses.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/adjacency.h"
#include "core/error.h"
#include "core/kernel_observer.h"
#include "core/random.h"
#include "core/tensor.h"

namespace rodeo::kernels {

/// Of weights [edges] or [edges, heads], which may be absent.
inline std::int64_t heads_of(const Tensor& weight) {
  return weight.defined() && weight.rank() == 2 ? weight.dim(1) : 1;
}

// The tensors among a kernel's arguments, for those who observe kernels.
template <class T>
void add_operands(std::vector<Tensor>&, const T&) {}
inline void add_operands(std::vector<Tensor>& all, const Tensor& x) {
  if (x.defined()) all.push_back(x);
}
inline void add_operands(std::vector<Tensor>& all, const Csr& a) {
  add_operands(all, a.row_ptr);
  add_operands(all, a.col);
}
inline void add_operands(std::vector<Tensor>& all, const Adjacency& a) {
  add_operands(all, a.csr());
}
inline void add_operands(std::vector<Tensor>& all, const std::vector<Tensor>& xs) {
  for (const Tensor& x : xs) add_operands(all, x);
}

/// A kernel on one device. Who observes kernels (core/kernel_observer.h) sees it called.
template <class Function>
struct KernelCall;
template <class Result, class... Parameters>
struct KernelCall<Result(Parameters...)> {
  const char* name;
  Device device;
  Result (*function)(Parameters...);

  Result operator()(Parameters... arguments) const {
    if (!kernels_observed()) [[likely]]
      return function(static_cast<Parameters>(arguments)...);
    std::vector<Tensor> operands;
    (add_operands(operands, arguments), ...);
    KernelScope observed(name, device, std::move(operands));
    if constexpr (std::is_void_v<Result>) {
      function(static_cast<Parameters>(arguments)...);
      observed.done();
    } else {
      Result result = function(static_cast<Parameters>(arguments)...);
      observed.done();
      return result;
    }
  }
};

/// One operator on its backends:  kernels::relu.on(x.device())(x, y).
template <class Function>
struct Kernel {
  const char* name;
  Function* cpu;
  Function* cuda;
  KernelCall<Function> on(Device device) const {
    if (device.is_cuda() && cuda == nullptr) fail("[", device, "] ", cuda_absence_reason());
    return {name, device, device.is_cuda() ? cuda : cpu};
  }
};

#if RODEO_WITH_CUDA
#define RODEO_KERNEL(name, ...)               \
  namespace cpu {                             \
  std::type_identity_t<__VA_ARGS__> name;     \
  }                                           \
  namespace cuda {                            \
  std::type_identity_t<__VA_ARGS__> name;     \
  }                                           \
  inline constexpr Kernel<__VA_ARGS__> name { \
#name, &cpu::name, &cuda::name            \
  }
#else
#define RODEO_KERNEL(name, ...)               \
  namespace cpu {                             \
  std::type_identity_t<__VA_ARGS__> name;     \
  }                                           \
  inline constexpr Kernel<__VA_ARGS__> name { \
#name, &cpu::name, nullptr                \
  }
#endif

/// A kernel that the CPU has no use for: the caller has seen to it that the device is a CUDA one.
#if RODEO_WITH_CUDA
#define RODEO_CUDA_KERNEL(name, ...)          \
  namespace cuda {                            \
  std::type_identity_t<__VA_ARGS__> name;     \
  }                                           \
  inline constexpr Kernel<__VA_ARGS__> name { \
#name, nullptr, &cuda::name               \
  }
#else
#define RODEO_CUDA_KERNEL(name, ...)          \
  inline constexpr Kernel<__VA_ARGS__> name { \
#name, nullptr, nullptr                   \
  }
#endif

}  // namespace rodeo::kernels
