/// The header that train/step_runner.h replaces since 0.2. Removed in 0.3.
#pragma once

#include "train/step_runner.h"

namespace rodeo {

using Replay [[deprecated("use StepRunner")]] = StepRunner;

}  // namespace rodeo
