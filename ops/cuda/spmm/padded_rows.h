/// Rows at addresses that 16-byte loads can read.
#pragma once

#include <cstdint>

#include "ops/cuda/device/tensor_data.cuh"

namespace rodeo::kernels::cuda {

/// Whether rows of k elements begin at such addresses without a copy.
inline bool rows_are_aligned(const Tensor& x, std::int64_t k) {
  return k * static_cast<std::int64_t>(size_of(x.dtype())) % 16 == 0 && is_aligned(x);
}

/// x [rows, heads * k] as [rows, heads, pitch], pitch >= k such that every head's part of a row begins at a
/// multiple of 16 bytes. x itself where it is so already, else a copy padded with zeros.
struct PaddedRows {
  Tensor x;
  std::int64_t pitch;

  PaddedRows(const Tensor& x, std::int64_t heads, std::int64_t k);
  /// The same for a kernel that reads x anyway: it is to write the copy, where x is not `given`.
  static PaddedRows unwritten(const Tensor& given, std::int64_t heads, std::int64_t k);

 private:
  PaddedRows() = default;
};

}  // namespace rodeo::kernels::cuda
