/// Operands of the grouped product (ops/grouped_linear.h), which contracts and kernel signatures share.
#pragma once

#include <cstdint>

namespace rodeo {

/// Rows of x and y that share a weight matrix W:  y[y_begin + i] += x[x_begin + i] W,  0 <= i < rows.
struct RowSegment {
  std::int64_t x_begin = 0, y_begin = 0, rows = 0;
  bool operator==(const RowSegment&) const = default;
};

}  // namespace rodeo
