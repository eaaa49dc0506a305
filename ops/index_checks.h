/// Range checks of index inputs, the same for all operators.
///
/// On the CPU an operator checks before it runs. On CUDA its kernel checks each index as it reads it, so that
/// the host need not wait: an index out of range is not followed, a loss that names it is NaN, and the Error
/// is thrown where the host next waits for this thread's work (Tensor::to, to_vector, item, synchronize). The
/// text is the same: "[take] ids[3] = 9 is outside [0, 5)". On CUDA it is one of the bad indices, not always
/// the first.
#pragma once

#include <string_view>

#include "core/tensor.h"

namespace rodeo {

/// Throws Error for the first element of ids outside [lowest, limit).   ids i64 [n]; no check on CUDA
void check_indices(std::string_view op, std::string_view input, const Tensor& ids, std::int64_t limit,
                   std::int64_t lowest = 0);

/// Throws Error for the first label of the named nodes outside [0, classes).
///   label i64 [nodes], index i64 [k] in [0, nodes); no check on CUDA
void check_labels(std::string_view op, const Tensor& label, const Tensor& index, std::int64_t classes);

}  // namespace rodeo
