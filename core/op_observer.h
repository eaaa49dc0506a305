/// Looks at every kernel that a thread runs: what --profile, --trace, --debug and the report's memory curve
/// are made of. Costs a look at one thread-local pointer while nobody observes.
#pragma once

#include <string_view>
#include <vector>

#include "core/tensor.h"

namespace rodeo {

/// One kernel call.
struct OpCall {
  const char* op;  // "spmm_rode"; outlives everything
  Device device;
  std::string_view gradient_of;  // the recorded op whose gradient it is part of; empty in forward
  std::vector<Tensor> operands;  // all tensors that it reads or writes, in the order of its arguments
};

class OpObserver {
 public:
  virtual ~OpObserver() = default;
  virtual void before(const OpCall& call) = 0;
  /// Not called where the kernel threw. May throw Error.
  virtual void after(const OpCall& call) = 0;
};

/// While one lives, `observer` sees the kernels of this thread, and so do those of ObserveOps around it. What
/// an observer itself runs is not seen.
class ObserveOps {
 public:
  explicit ObserveOps(OpObserver& observer);
  ~ObserveOps();
  ObserveOps(const ObserveOps&) = delete;
  ObserveOps& operator=(const ObserveOps&) = delete;

 private:
  friend class ObservedOp;
  OpObserver& observer_;
  ObserveOps* around_;
};

/// Whether anybody observes this thread.
bool ops_observed();

/// Stands around a kernel call, for those who run kernels (ops/kernels.h) where ops_observed().
class ObservedOp {
 public:
  ObservedOp(const char* op, Device device, std::vector<Tensor> operands);
  ~ObservedOp();
  ObservedOp(const ObservedOp&) = delete;
  ObservedOp& operator=(const ObservedOp&) = delete;
  /// The kernel has been run.
  void done();

 private:
  OpCall call_;
  ObserveOps* observers_;
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
inline thread_local constinit ObserveOps* observers = nullptr;
}
inline bool ops_observed() {
  return detail::observers != nullptr;
}

}  // namespace rodeo
