/// --debug: the first kernel whose result is not a finite number.
#pragma once

#include "core/kernel_observer.h"

namespace rodeo {

/// A loss, or with NanWatch a result, is NaN or infinite.
class NotFinite : public Error {
 public:
  using Error::Error;
};

/// Throws NotFinite after the first kernel one of whose floating-point operands holds a NaN or an infinity,
/// naming it. All of them were finite after the kernel before: what is not now is its result, unless it comes
/// from outside, as features and first parameters do, which check() looks at. Waits for the device after
/// every kernel.
class NanWatch : public KernelObserver {
 public:
  void before(const KernelCallInfo&) override {}
  void after(const KernelCallInfo& call) override;
  /// The same for a tensor that no kernel made.
  static void check(std::string_view name, const Tensor& x);
};

/// How many elements of a floating-point tensor are NaN, how many infinite, and the first of them; -1: none.
struct NotFiniteCount {
  std::int64_t nan = 0, infinite = 0, first = -1;
};
NotFiniteCount count_not_finite(const Tensor& x);

}  // namespace rodeo
