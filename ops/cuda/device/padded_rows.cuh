/// Rows of a matrix at addresses that 16-byte loads can read.
#pragma once

#include <cstdint>

#include "ops/cuda/device/tensor_data.cuh"

namespace rodeo::kernels::cuda {

/// Whether rows of k elements begin at multiples of 16 bytes.
inline bool rows_are_aligned(const Tensor& x, std::int64_t k) {
  return k * static_cast<std::int64_t>(size_of(x.dtype())) % 16 == 0 && is_aligned(x);
}

/// x [rows, heads * k] as [rows, heads, pitch], pitch >= k: every head of a row begins at a multiple of 16
/// bytes. x itself where it is aligned already, else a copy padded with zeros.
struct PaddedRows {
  Tensor x;
  std::int64_t pitch;

  PaddedRows(const Tensor& x, std::int64_t heads, std::int64_t k);
};

}  // namespace rodeo::kernels::cuda
