/// Kernels that arrange rows for the exchange between ranks: ops/sparse/halo_form.cpp and
/// ops/sparse/columns_form.cpp.
#pragma once

#include "ops/kernels/registry.h"

namespace rodeo::kernels {

/// y[index[i]] = x[i]; other rows of y stay as they are.   x [k, n], index i64 [k] without repeats, y [m, n]
RODEO_KERNEL(scatter_rows, void(const Tensor& x, const Tensor& index, const Tensor& y));
/// y[p, i, j] = x[i, p w + j], or 0 beyond the last column of x.   x [m, n], y [blocks, m, w]
RODEO_KERNEL(split_columns, void(const Tensor& x, const Tensor& y));
/// The inverse: y[i, p w + j] = x[p, i, j].   x [blocks, m, w], y [m, n]
RODEO_KERNEL(join_columns, void(const Tensor& x, const Tensor& y));

}  // namespace rodeo::kernels
