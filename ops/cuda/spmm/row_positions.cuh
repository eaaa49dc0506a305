/// Positions of edges in their rows, compact: what a maximum keeps for its gradient.
#pragma once

#include <cstdint>

#include "core/tensor.h"
#include "ops/cuda/device/pack.cuh"

namespace rodeo::kernels::cuda {

/// One position for each element of a [rows, k] matrix, as four matrices of bytes: plane p has bits 8 p to
/// 8 p + 7. Rows of up to 256 edges have plane 0, those of up to 65,536 edges planes 0 and 1, longer rows
/// all; other planes are neither written nor read there. So most rows move a byte an element.
struct RowPositions {
  std::uint8_t* planes = nullptr;  // [4, elements]
  std::int64_t elements = 0;

  RowPositions() = default;
  /// arg: i32 [rows, k], or undefined.
  explicit RowPositions(const Tensor& arg)
      : planes(static_cast<std::uint8_t*>(arg.raw())), elements(arg.defined() ? arg.numel() : 0) {}

  /// Planes of a row of `length` edges.
  __device__ static int planes_of(std::int64_t length) {
    return length <= 1 << 8 ? 1 : length <= 1 << 16 ? 2 : 4;
  }
  template <int kVec>
  __device__ void store(std::int64_t element, const std::int32_t (&position)[kVec],
                        std::int64_t length) const {
    for (int p = 0; p < planes_of(length); ++p) {
      Pack<std::uint8_t, kVec> bytes;
#pragma unroll
      for (int v = 0; v < kVec; ++v) bytes.value[v] = static_cast<std::uint8_t>(position[v] >> 8 * p);
      *reinterpret_cast<Pack<std::uint8_t, kVec>*>(planes + p * elements + element) = bytes;
    }
  }
  __device__ std::int32_t load(std::int64_t element, std::int64_t length) const {
    std::uint32_t position = 0;
    for (int p = 0; p < planes_of(length); ++p)
      position |= static_cast<std::uint32_t>(planes[p * elements + element]) << 8 * p;
    return static_cast<std::int32_t>(position);
  }
};

/// Marks the bytes of a word that are those of a position by their highest bits; all others are 0. low, high:
/// kBytes bytes of planes 0 and 1; high is 0 where there is no plane 1.
template <int kBytes>
__device__ std::uint32_t mark_equal(std::uint32_t low, std::uint32_t high, std::uint32_t position) {
  const std::uint32_t first = __byte_perm(position, 0, 0x0000), second = __byte_perm(position, 0, 0x1111),
                      difference = (low ^ first) | (high ^ second);
  return ~(((difference & 0x7f7f7f7fu) + 0x7f7f7f7fu) | difference) & 0x80808080u >> 8 * (4 - kBytes);
}

}  // namespace rodeo::kernels::cuda
