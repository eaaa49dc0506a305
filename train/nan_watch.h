/// Finds the first kernel that produces a NaN or an infinity (--debug).
#pragma once

#include "core/kernel_observer.h"

namespace rodeo {

/// Thrown for a loss that is NaN or infinite and, by NanWatch, for such a result of a kernel.
class NotFinite : public Error {
 public:
  using Error::Error;
};

/// Checks the floating-point operands of every kernel after it ran, and throws NotFinite naming the first
/// kernel with a NaN or an infinity. The operands were finite after the previous kernel, so the value is its
/// result. Tensors that no kernel produced, such as features and initial parameters, need check(). Waits for
/// the device after every kernel.
class NanWatch : public KernelObserver {
 public:
  void before(const KernelCallInfo&) override {}
  void after(const KernelCallInfo& call) override;
  /// Checks a tensor that no kernel produced.
  static void check(std::string_view name, const Tensor& x);
};

/// Counts of the NaN and infinite elements of a floating-point tensor, and the index of the first; -1: none.
struct NotFiniteCount {
  std::int64_t nan = 0, infinite = 0, first = -1;
};
NotFiniteCount count_not_finite(const Tensor& x);

}  // namespace rodeo
