/// RodePlan as a kernel argument. All that a warp starts with is in arrays by piece or residual row, so that
/// its loads do not depend on each other.
#pragma once

#include <bit>
#include <cstdint>

#include "ops/plan/rode_plan.h"

namespace rodeo::kernels::cuda {

struct RodeView {
  struct Part {  // a piece or a residual row
    std::int64_t row, begin;
    int length;
  };

  const std::int32_t *piece_row, *piece_length, *piece_split, *residual_row, *residual_length;
  const std::int64_t *piece_begin, *residual_begin, *split_slot;
  std::int64_t pieces, residuals;
  // RodePlan::split as an odd factor times a power of two, to divide multiples of it without a division.
  int split_bits;
  std::uint32_t odd_inverse;  // modulo 2^32

  explicit RodeView(const RodePlan& plan)
      : piece_row(plan.piece_row.data<std::int32_t>()),
        piece_length(plan.piece_length.data<std::int32_t>()),
        piece_split(plan.piece_split.data<std::int32_t>()),
        residual_row(plan.residual_row.data<std::int32_t>()),
        residual_length(plan.residual_length.data<std::int32_t>()),
        piece_begin(plan.piece_begin.data<std::int64_t>()),
        residual_begin(plan.residual_begin.data<std::int64_t>()),
        split_slot(plan.split_slot.data<std::int64_t>()),
        pieces(plan.num_pieces()),
        residuals(plan.num_residual()),
        split_bits(std::countr_zero(static_cast<std::uint64_t>(plan.split))),
        odd_inverse(inverse(static_cast<std::uint32_t>(plan.split >> split_bits))) {}

  /// Instead of a plan: a part for each of `rows` rows, whatever its length. It has no arrays.
  static RodeView by_rows(std::int64_t rows) { return RodeView(rows); }
  __device__ bool is_by_rows() const { return residual_row == nullptr; }

  __device__ Part piece(std::int64_t i) const { return {piece_row[i], piece_begin[i], piece_length[i]}; }
  /// Past the end, an empty part of row 0. Not of by_rows().
  __device__ Part residual(std::int64_t i) const {
    if (i >= residuals) return {0, 0, 0};
    return {residual_row[i], residual_begin[i], residual_length[i]};
  }
  /// Row i of a view that by_rows() made.
  __device__ Part row(std::int64_t i, const std::int64_t* row_ptr) const {
    if (i >= residuals) return {0, 0, 0};
    return {i, row_ptr[i], static_cast<int>(row_ptr[i + 1] - row_ptr[i])};
  }
  /// The index of a piece among those of its split row.
  __device__ std::int64_t index_of(const Part& piece, const std::int64_t* row_ptr) const {
    const std::int64_t first = piece.begin - row_ptr[piece.row];
    return static_cast<std::uint32_t>(first >> split_bits) * odd_inverse;
  }

 private:
  explicit RodeView(std::int64_t rows)
      : piece_row(nullptr),
        piece_length(nullptr),
        piece_split(nullptr),
        residual_row(nullptr),
        residual_length(nullptr),
        piece_begin(nullptr),
        residual_begin(nullptr),
        split_slot(nullptr),
        pieces(0),
        residuals(rows),
        split_bits(0),
        odd_inverse(1) {}
  /// Modulo 2^32, by Newton's iteration: each step doubles the correct bits, from 3 of odd * odd = 1
  /// modulo 8.
  static std::uint32_t inverse(std::uint32_t odd) {
    std::uint32_t x = odd;
    for (int bits = 3; bits < 32; bits *= 2) x *= 2 - odd * x;
    return x;
  }
};

}  // namespace rodeo::kernels::cuda
