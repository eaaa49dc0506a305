/// Copies of arrays into larger ones, many at a time.
#pragma once

#include <vector>

#include "ops/copy_padded_types.h"

namespace rodeo {

/// Runs the copies, which must not overlap, in one kernel for up to 32 of them: a copy of its own takes
/// longer to launch than most small arrays take to copy. Does not wait for the device. Deterministic. Throws
/// Error when ranks, sizes, dtypes or devices disagree.
void copy_padded(const std::vector<PaddedCopy>& copies);

}  // namespace rodeo
