#include "core/kernel_observer.h"

#include <utility>

namespace rodeo {
namespace {
thread_local std::string_view gradient_of;
}

ScopedKernelObserver::ScopedKernelObserver(KernelObserver& observer)
    : observer_(observer), around_(detail::observers) {
  detail::observers = this;
}
ScopedKernelObserver::~ScopedKernelObserver() {
  detail::observers = around_;
}

KernelScope::KernelScope(const char* op, Device device, std::vector<Tensor> operands)
    : call_{op, device, gradient_of, std::move(operands)},
      observers_(std::exchange(detail::observers, nullptr)) {
  for (ScopedKernelObserver* at = observers_; at; at = at->around_) at->observer_.before(call_);
}
KernelScope::~KernelScope() {
  detail::observers = observers_;
}
void KernelScope::done() {
  for (ScopedKernelObserver* at = observers_; at; at = at->around_) at->observer_.after(call_);
}

GradientOf::GradientOf(std::string_view op) : before_(std::exchange(gradient_of, op)) {}
GradientOf::~GradientOf() {
  gradient_of = before_;
}

}  // namespace rodeo
