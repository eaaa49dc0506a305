/// Products of segments of rows with a weight matrix for each segment.
#pragma once

#include <vector>

#include "core/variable.h"
#include "ops/grouped_linear_types.h"

namespace rodeo {

/// For each segment s:  y[y_begin + i] += sum over f < fold of x[x_begin + i fold + f] W_{s, f} + b_s,
/// 0 <= i < rows of s. With fold 1 there is one matrix a segment.
///   x         [m, in]
///   segments  ranges of rows of x and of y. Several may read the same rows of x, or add to the same rows of
///             y; any may be empty
///   rows      of y
///   w         [matrices, in, out], or block-diagonal [matrices, blocks, in / blocks, out / blocks]: block b
///             maps columns b of x to columns b of y. The matrices of a segment follow those of the one
///             before
///   bias      [segments, out]; leave it out for none
///   returns   [rows, out]; rows of no segment are zero
/// f64, f32, bf16 or f16; with 16-bit x, w and bias may be f32, and their gradients are then f32. 16-bit
/// types are accumulated in f32 and rounded at least once. f32 products are f32 unless set_allow_tf32(true);
/// on CUDA long segments run the kernels of linear(), with its errors (linear.h).
/// Gradients: dx[x_begin + i fold + f] += dy[y_begin + i] W_{s, f}^T,  dW_{s, f} = (the rows of x that it
/// multiplied)^T (dy's rows of s),  db_s = sum of dy's rows of s. Sums over segments are in their order.
/// The segments are on the host, so that it waits for nothing and can be captured in a CUDA graph.
/// Deterministic. Throws rodeo::Error when shapes, dtypes or devices disagree, and for a segment out of
/// range.
Tensor grouped_linear(const Tensor& x, const std::vector<RowSegment>& segments, std::int64_t rows,
                      const Tensor& w, const Tensor& bias = {});
Variable grouped_linear(const Variable& x, const std::vector<RowSegment>& segments, std::int64_t rows,
                        const Variable& w, const Variable& bias = {});

/// A row of x gives the `fold` rows of y that each have a matrix of their own:
///   y[y_begin + i fold + f] += x[x_begin + i] W_{s, f}^T + b_{s, f}
///   w     [matrices, out, in], or [matrices, blocks, out / blocks, in / blocks]
///   bias  [matrices, out]; leave it out for none
/// f64, f32, bf16 or f16, rounding and errors as for grouped_linear, which is its transpose. Deterministic.
/// Throws rodeo::Error where that does. Gradients: dx[x_begin + i] += sum over f of dy[y_begin + i fold + f]
/// W_{s, f},  dW_{s, f} = (dy's rows)^T (x's rows),  db_{s, f} = sum of dy's rows.
Tensor fan_out_linear(const Tensor& x, const std::vector<RowSegment>& segments, std::int64_t rows,
                      const Tensor& w, const Tensor& bias = {});
Variable fan_out_linear(const Variable& x, const std::vector<RowSegment>& segments, std::int64_t rows,
                        const Variable& w, const Variable& bias = {});

/// One of grouped_products(): grouped_linear() with these operands, or fan_out_linear().
struct GroupedProduct {
  std::vector<RowSegment> segments;
  std::int64_t rows = 0;
  Variable w, bias = {};
  bool fans_out = false;
  bool recompute = false;  // gradient rules of what follows compute the product again instead of keeping it
};
/// Several products of one x [m, in]. Backward adds their dx in the first one's memory, in their order: no
/// sums of gradients are left to do.
///   returns  [rows, out] of each product
/// Values, dtypes and errors of each as above; throws rodeo::Error for no products, and for a second
/// derivative. Deterministic.
std::vector<Variable> grouped_products(const Variable& x, const std::vector<GroupedProduct>& products);

/// Segments of consecutive rows, in both x and y: segment s has the rows [offsets[s], offsets[s + 1]).
/// Throws Error unless offsets do not decrease from 0.
std::vector<RowSegment> row_segments(const std::vector<std::int64_t>& offsets);

}  // namespace rodeo
