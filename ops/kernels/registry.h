/// How kernels are declared and called. Each family of operators has a header in this folder:
///   - RODEO_KERNEL(relu, void(const Tensor& x, const Tensor& y)); declares a function kernels::cpu::relu and
///     one kernels::cuda::relu, and the pair of both, kernels::relu;
///   - ops/cpu/*.cpp and ops/cuda/*/*.cu define the functions;
///   - RODEO_KERNEL_IN(kGemm, ...) also states the KernelCategory that the trainer reports its time under;
///   - kernels::relu.on(device)(x, y) calls the function of the device and notifies kernel observers.
/// In a build without CUDA the kernels::cuda functions do not exist, and on() of a CUDA device throws Error.
/// In a build for any x86-64 processor there are kernels::cpu_v3::relu and kernels::cpu_v4::relu as well, and
/// on() chooses by core/cpu_level.h.
///
/// What kernels may assume.
/// - The caller has checked shapes, dtypes and devices.
/// - Outputs are allocated, but not initialised. A kernel overwrites them completely.
/// - No tensor is empty unless its declaration says so.
/// - Sums have the accumulator dtype: f64 for f64, else f32. So do the small operands beside 16-bit matrices:
///   biases, scales of rows and columns, attention vectors, their gradients, row sums and losses.
/// Kernel headers include core, ops/*_types.h and ops/plan only, never the header of an operator.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/adjacency.h"
#include "core/cpu_level.h"
#include "core/error.h"
#include "core/kernel_observer.h"
#include "core/random.h"
#include "core/tensor.h"

namespace rodeo::kernels {

/// The number of heads of edge weights [edges] or [edges, heads]; 1 where weight is undefined.
inline std::int64_t heads_of(const Tensor& weight) {
  return weight.defined() && weight.rank() == 2 ? weight.dim(1) : 1;
}

// add_operands() appends the tensors among the arguments of a kernel, for KernelCallInfo::operands.
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

/// A kernel on one device. A call notifies the observers of the thread (core/kernel_observer.h).
template <class Function>
struct KernelCall;
template <class Result, class... Parameters>
struct KernelCall<Result(Parameters...)> {
  const char* name;
  KernelCategory category;
  Device device;
  Result (*function)(Parameters...);

  Result operator()(Parameters... arguments) const {
    if (!kernels_observed()) [[likely]]
      return function(static_cast<Parameters>(arguments)...);
    std::vector<Tensor> operands;
    (add_operands(operands, arguments), ...);
    KernelScope observed(name, category, device, std::move(operands));
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

// The functions of ops/cpu: one for each CpuLevel, or one in all. cmake/CpuLevels.cmake compiles ops/cpu for
// each level, with a macro cpu that changes the namespace.
#if RODEO_CPU_LEVELS
constexpr int kCpuLevels = 3;
#define RODEO_CPU_FUNCTIONS(name) \
  { &cpu::name, &cpu_v3::name, &cpu_v4::name }
#define RODEO_DECLARE_CPU(name, ...)      \
  namespace cpu {                         \
  std::type_identity_t<__VA_ARGS__> name; \
  }                                       \
  namespace cpu_v3 {                      \
  std::type_identity_t<__VA_ARGS__> name; \
  }                                       \
  namespace cpu_v4 {                      \
  std::type_identity_t<__VA_ARGS__> name; \
  }
#else
constexpr int kCpuLevels = 1;
#define RODEO_CPU_FUNCTIONS(name) \
  { &cpu::name }
#define RODEO_DECLARE_CPU(name, ...)      \
  namespace cpu {                         \
  std::type_identity_t<__VA_ARGS__> name; \
  }
#endif

/// A kernel on all backends:  kernels::relu.on(x.device())(x, y).
template <class Function>
struct Kernel {
  const char* name;
  KernelCategory category;
  Function* cpu_functions[kCpuLevels];
  Function* cuda;
  KernelCall<Function> on(Device device) const {
    if (device.is_cuda() && cuda == nullptr) fail("[", device, "] ", cuda_absence_reason());
    if (device.is_cuda()) return {name, category, device, cuda};
    return {name, category, device, cpu_functions[kCpuLevels > 1 ? static_cast<int>(cpu_level()) : 0]};
  }
};

#if RODEO_WITH_CUDA
#define RODEO_KERNEL_IN(category, name, ...)                                \
  RODEO_DECLARE_CPU(name, __VA_ARGS__)                                      \
  namespace cuda {                                                          \
  std::type_identity_t<__VA_ARGS__> name;                                   \
  }                                                                         \
  inline constexpr Kernel<__VA_ARGS__> name {                               \
#name, KernelCategory::category, RODEO_CPU_FUNCTIONS(name), &cuda::name \
  }
#else
#define RODEO_KERNEL_IN(category, name, ...)                            \
  RODEO_DECLARE_CPU(name, __VA_ARGS__)                                  \
  inline constexpr Kernel<__VA_ARGS__> name {                           \
#name, KernelCategory::category, RODEO_CPU_FUNCTIONS(name), nullptr \
  }
#endif
/// A kernel of KernelCategory::kOther.
#define RODEO_KERNEL(name, ...) RODEO_KERNEL_IN(kOther, name, __VA_ARGS__)

/// A kernel without a CPU version. The caller makes sure that the device is a CUDA device.
#if RODEO_WITH_CUDA
#define RODEO_CUDA_KERNEL_IN(category, name, ...)    \
  namespace cuda {                                   \
  std::type_identity_t<__VA_ARGS__> name;            \
  }                                                  \
  inline constexpr Kernel<__VA_ARGS__> name {        \
#name, KernelCategory::category, {}, &cuda::name \
  }
#else
#define RODEO_CUDA_KERNEL_IN(category, name, ...) \
  inline constexpr Kernel<__VA_ARGS__> name {     \
#name, KernelCategory::category, {}, nullptr  \
  }
#endif
#define RODEO_CUDA_KERNEL(name, ...) RODEO_CUDA_KERNEL_IN(kOther, name, __VA_ARGS__)

}  // namespace rodeo::kernels
