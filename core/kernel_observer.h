/// Looks at every kernel that a thread runs: what --profile, --trace, --debug and the report's memory curve
/// are made of. Costs a look at one thread-local pointer while nobody observes.
#pragma once

#include <string_view>
#include <vector>

#include "core/tensor.h"

namespace rodeo {

/// One kernel call.
struct KernelCallInfo {
  const char* op;  // "spmm_rode"; outlives everything
  Device device;
  std::string_view gradient_of;  // the recorded op whose gradient it is part of; empty in forward
  std::vector<Tensor> operands;  // all tensors that it reads or writes, in the order of its arguments
};

class KernelObserver {
 public:
  virtual ~KernelObserver() = default;
  virtual void before(const KernelCallInfo& call) = 0;
  /// Not called where the kernel threw. May throw Error.
  virtual void after(const KernelCallInfo& call) = 0;
};

/// While one lives, `observer` sees the kernels of this thread, and so do those of ScopedKernelObserver
/// around it. What an observer itself runs is not seen.
class ScopedKernelObserver {
 public:
  explicit ScopedKernelObserver(KernelObserver& observer);
  ~ScopedKernelObserver();
  ScopedKernelObserver(const ScopedKernelObserver&) = delete;
  ScopedKernelObserver& operator=(const ScopedKernelObserver&) = delete;

 private:
  friend class KernelScope;
  KernelObserver& observer_;
  ScopedKernelObserver* around_;
};

/// Whether anybody observes this thread.
bool kernels_observed();

/// Stands around a kernel call, for those who run kernels (ops/kernels/registry.h) where kernels_observed().
class KernelScope {
 public:
  KernelScope(const char* op, Device device, std::vector<Tensor> operands);
  ~KernelScope();
  KernelScope(const KernelScope&) = delete;
  KernelScope& operator=(const KernelScope&) = delete;
  /// The kernel has been run.
  void done();

 private:
  KernelCallInfo call_;
  ScopedKernelObserver* observers_;
};

/// While one lives, kernels of this thread belong to the gradient of `op`.
class GradientOf {
 public:
  explicit GradientOf(std::string_view op);
  ~GradientOf();
  GradientOf(const GradientOf&) = delete;
  GradientOf& operator=(const GradientOf&) = delete;

 private:
  std::string_view before_;
};

namespace detail {
inline thread_local constinit ScopedKernelObserver* observers = nullptr;
}
inline bool kernels_observed() {
  return detail::observers != nullptr;
}

}  // namespace rodeo
