/// Reads the features of some nodes of a file, for ranks that keep their rows.
#pragma once

#include <cstdint>
#include <string>

#include "core/tensor.h"

namespace rodeo {

/// Rows [begin, begin + count) of /x: f32 [count, features], on the host. Reads no others, apart from those
/// in the same compressed chunks. For a file that load_dataset() accepts without features. Throws Error for a
/// range outside /x, and for values that are not finite.
Tensor load_feature_rows(const std::string& path, std::int64_t begin, std::int64_t count);

}  // namespace rodeo
