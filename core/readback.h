/// The header that core/async_host_copy.h replaces since 0.2. Removed in 0.3.
#pragma once

#include "core/async_host_copy.h"

namespace rodeo {

using Readback [[deprecated("use AsyncHostCopy")]] = AsyncHostCopy;

}  // namespace rodeo
