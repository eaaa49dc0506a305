/// The header that core/kernel_timer.h replaces since 0.2. Removed in 0.3.
#pragma once

#include "core/kernel_timer.h"

namespace rodeo {

using OpSpan [[deprecated("use KernelSpan")]] = KernelSpan;
using OpTimer [[deprecated("use KernelTimer")]] = KernelTimer;

}  // namespace rodeo
