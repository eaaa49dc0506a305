/// The arithmetic of all_reduce and reduce_scatter on the CPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/communicator_types.h"
#include "core/dtype.h"

namespace rodeo::comm {

/// out[i] = ((parts[0][i] + parts[1][i]) + parts[2][i]) + ... for i < count, or the maximum. `out` may be one
/// of the parts. 16-bit floats are added in f32 and rounded once. Bits do not depend on the number of
/// threads.
void reduce_in_order(const std::vector<const std::byte*>& parts, std::byte* out, std::int64_t count,
                     DType dtype, Reduction reduction);

}  // namespace rodeo::comm
