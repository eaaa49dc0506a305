/// Types of ops/copy_padded.h that its kernels read too.
#pragma once

#include <cstdint>

#include "core/tensor.h"

namespace rodeo {

/// to[i] = from[i] for the elements of `from`; beyond them filler[i], or `value` without a filler.
struct PaddedCopy {
  Tensor from, to;     // i32 or i64 [n] and [m], n <= m, of one dtype
  Tensor filler = {};  // [m], or undefined
  std::int64_t value = 0;
};

}  // namespace rodeo
