/// RowCache (ops/row_cache.h), which features and kernel signatures share.
#pragma once

#include "core/tensor.h"

namespace rodeo {

/// Rows of a matrix [m, n] that a device keeps a copy of.
struct RowCache {
  Tensor rows;  // [c, n] on the device
  Tensor slot;  // i32 [m]: the row of `rows` that is row i of the matrix, or -1
  bool defined() const { return slot.defined(); }
};

}  // namespace rodeo
