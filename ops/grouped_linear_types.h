/// Operands of the grouped product (ops/grouped_linear.h), which contracts and kernel signatures share.
#pragma once

#include <cstdint>

namespace rodeo {

/// Rows of x and y that share weight matrices, one for each of the `fold` rows of x that a row of y sums:
/// y[y_begin + i] += sum over f of x[x_begin + i fold + f] W_f,  0 <= i < rows, 0 <= f < fold.
struct RowSegment {
  std::int64_t x_begin = 0, y_begin = 0, rows = 0, fold = 1;
  bool operator==(const RowSegment&) const = default;
};

}  // namespace rodeo
