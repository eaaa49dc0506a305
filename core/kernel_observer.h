/// Callbacks before and after every kernel that a thread runs. --profile, --trace, --debug and the memory
/// curve of the report use them. Without an observer a kernel call costs one read of a thread-local pointer.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/tensor.h"

namespace rodeo {

/// The category under which the time of a kernel in a training step is reported. Its declaration states
/// it (ops/kernels/registry.h).
enum class KernelCategory : std::uint8_t {
  kSparse,         // SpMM, SpMV, SDDMM and attention
  kGemm,           // dense matrix products
  kCommunication,  // collectives of Communicator
  kOther,
};

/// One kernel call.
struct KernelCallInfo {
  const char* op;  // the kernel's name, such as "spmm_rode"; static lifetime
  KernelCategory category;
  Device device;
  std::string_view gradient_of;  // the recorded op whose gradient is being computed; empty in forward
  std::vector<Tensor> operands;  // all tensors that the kernel reads or writes, in argument order
};

class KernelObserver {
 public:
  virtual ~KernelObserver() = default;
  virtual void before(const KernelCallInfo& call) = 0;
  /// Not called if the kernel threw. May throw Error.
  virtual void after(const KernelCallInfo& call) = 0;
};

/// RAII guard that registers `observer` for the kernels of this thread. Guards nest: the observers of outer
/// guards are notified as well. Kernels that an observer runs are not observed.
class ScopedKernelObserver {
 public:
  explicit ScopedKernelObserver(KernelObserver& observer);
  ~ScopedKernelObserver();
  ScopedKernelObserver(const ScopedKernelObserver&) = delete;
  ScopedKernelObserver& operator=(const ScopedKernelObserver&) = delete;

 private:
  friend class KernelScope;
  KernelObserver& observer_;
  ScopedKernelObserver* outer_;
};

/// Whether an observer is registered on this thread.
bool kernels_observed();

/// RAII guard that notifies observers around one kernel call: before() on construction, after() on done().
/// Kernels that run within it are not observed. Used by the kernel dispatch (ops/kernels/registry.h), and
/// only if kernels_observed().
class KernelScope {
 public:
  KernelScope(const char* op, KernelCategory category, Device device, std::vector<Tensor> operands);
  ~KernelScope();
  KernelScope(const KernelScope&) = delete;
  KernelScope& operator=(const KernelScope&) = delete;
  /// Call it once the kernel has returned.
  void done();

 private:
  KernelCallInfo call_;
  ScopedKernelObserver* observers_;
};

/// RAII guard that marks the kernels of this thread as part of the gradient of `op`, which must outlive it.
class GradientScope {
 public:
  explicit GradientScope(std::string_view op);
  ~GradientScope();
  GradientScope(const GradientScope&) = delete;
  GradientScope& operator=(const GradientScope&) = delete;

 private:
  std::string_view outer_;
};

namespace detail {
inline thread_local constinit ScopedKernelObserver* innermost_observer = nullptr;
}
inline bool kernels_observed() {
  return detail::innermost_observer != nullptr;
}

}  // namespace rodeo
