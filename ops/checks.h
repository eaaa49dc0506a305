/// Argument checks that operators share, so that the same mistake gives the same error text everywhere.
#pragma once

#include <string_view>

#include "core/adjacency.h"
#include "core/tensor.h"

namespace rodeo {

/// [op] x must be a matrix ... of a floating dtype.
inline void check_matrix(std::string_view op, std::string_view what, const Tensor& x) {
  check(x.defined(), "[", op, "] ", what, " is undefined");
  check(x.rank() == 2, "[", op, "] ", what, " must be a matrix [m, n], got ", x.shape());
  check(is_float(x.dtype()), "[", op, "] ", what, " must be floating point, got ", x.dtype());
}

/// [op] x must be a vector ... of a floating dtype.
inline void check_vector(std::string_view op, std::string_view what, const Tensor& x) {
  check(x.defined(), "[", op, "] ", what, " is undefined");
  check(x.rank() == 1, "[", op, "] ", what, " must be a vector [n], got ", x.shape());
  check(is_float(x.dtype()), "[", op, "] ", what, " must be floating point, got ", x.dtype());
}

/// [op] b must have the dtype and device of a.
inline void check_alike(std::string_view op, std::string_view a_name, const Tensor& a,
                        std::string_view b_name, const Tensor& b) {
  check(b.defined(), "[", op, "] ", b_name, " is undefined");
  check(a.dtype() == b.dtype(), "[", op, "] ", b_name, " must have the dtype of ", a_name, ", ", a.dtype(),
        ", got ", b.dtype());
  check(a.device() == b.device(), "[", op, "] ", b_name, " must be on ", a.device(), " as ", a_name,
        " is, got ", b.device());
}

/// The accumulator dtype for elements of `dtype`: f64 for f64, else f32. Kernels expect small operands
/// (biases, scales) in this dtype.
constexpr DType sum_dtype(DType dtype) {
  return dtype == DType::kF64 ? DType::kF64 : DType::kF32;
}

/// A small operand of an op on x: on x's device, of x's dtype, or f32 with 16-bit x.
inline void check_beside(std::string_view op, std::string_view x_name, const Tensor& x, std::string_view what,
                         const Tensor& operand) {
  if (size_of(x.dtype()) != 2 || !operand.defined() || operand.dtype() != DType::kF32)
    return check_alike(op, x_name, x, what, operand);
  check(x.device() == operand.device(), "[", op, "] ", what, " must be on ", x.device(), " as ", x_name,
        " is, got ", operand.device());
}

/// [op] x must be [3, 4], got ...
inline void check_shape(std::string_view op, std::string_view what, const Tensor& x, const Shape& expected) {
  check(x.shape() == expected, "[", op, "] ", what, " must be ", expected, ", got ", x.shape());
}

/// [op] x must be on ... as the graph is.
inline void check_on_device_of(std::string_view op, const Adjacency& adj, std::string_view what,
                               const Tensor& x) {
  check(adj.device() == x.device(), "[", op, "] ", what, " must be on ", adj.device(),
        " as the graph is, got ", x.device());
}

}  // namespace rodeo
