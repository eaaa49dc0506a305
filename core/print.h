/// Printing of tensors and variables, in the manner of PyTorch:
///   [[ 0.5000, -1.2500],
///    [ 2.0000,  3.0000]]
///   f32 [2, 2] on cpu
#pragma once

#include <cstdint>
#include <string>

#include "core/variable.h"

namespace rodeo {

/// The defaults are those of torch.set_printoptions().
struct PrintOptions {
  int precision = 4;              // digits after the decimal point
  std::int64_t threshold = 1000;  // a tensor with more elements is summarised
  std::int64_t edge_items = 3;    // values at the beginning and end of each dimension of a summary
  int line_width = 80;            // columns, after which a row goes on in the next line
};

/// The values, all in the width of the longest one, then dtype, shape and device. The last dimension is a
/// row. A tensor of rank 0 is its value, one without elements is [], an undefined one is "undefined tensor".
/// - f64, f32, bf16, f16: 0.5000; in scientific form (5.0000e-01) if the largest magnitude that is printed is
///   at least 1e8, the smallest that is not zero is below 1e-4, or their ratio is above 1000. If all values
///   are integers below 1e8: 2. with a point and no digits. NaN and infinities are nan, inf and -inf.
/// - i64, i32, u8: decimal numbers.
/// A tensor on a GPU is copied as far as it is printed, up to whole entries of the first dimension. Waits for
/// the device. Independent of the locale. Throws Error if precision is not in [0, 16], or threshold,
/// edge_items or line_width are out of range.
std::string to_text(const Tensor& tensor, const PrintOptions& options = {});
/// The value as text, with ", requires grad" after the device if the variable does.
std::string to_text(const Variable& variable, const PrintOptions& options = {});

}  // namespace rodeo
