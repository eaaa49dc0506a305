/// The header that core/kernel_observer.h replaces since 0.2. Removed in 0.3.
#pragma once

#include "core/kernel_observer.h"

namespace rodeo {

using OpCall [[deprecated("use KernelCallInfo")]] = KernelCallInfo;
using OpObserver [[deprecated("use KernelObserver")]] = KernelObserver;
using ObserveOps [[deprecated("use ScopedKernelObserver")]] = ScopedKernelObserver;

}  // namespace rodeo
