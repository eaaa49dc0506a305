#include "core/kernel_observer.h"

#include <utility>

namespace rodeo {
namespace {
thread_local std::string_view current_gradient_op;
}

ScopedKernelObserver::ScopedKernelObserver(KernelObserver& observer)
    : observer_(observer), outer_(detail::innermost_observer) {
  detail::innermost_observer = this;
}
ScopedKernelObserver::~ScopedKernelObserver() {
  detail::innermost_observer = outer_;
}

KernelScope::KernelScope(const char* op, KernelCategory category, Device device, std::vector<Tensor> operands)
    : call_{op, category, device, current_gradient_op, std::move(operands)},
      observers_(std::exchange(detail::innermost_observer, nullptr)) {
  for (ScopedKernelObserver* guard = observers_; guard; guard = guard->outer_) guard->observer_.before(call_);
}
KernelScope::~KernelScope() {
  detail::innermost_observer = observers_;
}
void KernelScope::done() {
  for (ScopedKernelObserver* guard = observers_; guard; guard = guard->outer_) guard->observer_.after(call_);
}

GradientScope::GradientScope(std::string_view op) : outer_(std::exchange(current_gradient_op, op)) {}
GradientScope::~GradientScope() {
  current_gradient_op = outer_;
}

}  // namespace rodeo
