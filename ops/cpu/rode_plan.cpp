#include <algorithm>
#include <vector>

#include "ops/kernels.h"

namespace rodeo::kernels::cpu {

RodePlan rode_plan(const Csr& a, const Tensor& cluster) {
  const auto* row_ptr = a.row_ptr.data<std::int64_t>();
  const auto length = [&](std::int64_t row) { return row_ptr[row + 1] - row_ptr[row]; };

  const auto cluster_of = [&](std::int64_t row) {
    return cluster.defined() ? cluster.data<std::uint8_t>()[row] : 0;
  };

  struct Piece {
    std::int32_t row;
    std::int64_t begin;
    std::int32_t split;
    std::pair<int, std::int64_t> rank;  // what it is sorted by: cluster, then -(whole blocks in it)
  };
  std::vector<Piece> pieces;
  std::vector<std::int32_t> residual;
  std::vector<std::int64_t> slot{0};
  for (std::int64_t row = 0; row < a.rows; ++row) {
    const std::int64_t count = RodePlan::pieces(length(row));
    if (count == 0) residual.push_back(static_cast<std::int32_t>(row));
    if (count > 1) slot.push_back(slot.back() + count);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t begin = row_ptr[row] + i * RodePlan::kSplit;
      pieces.push_back(
          {static_cast<std::int32_t>(row),
           begin,
           count > 1 ? static_cast<std::int32_t>(slot.size()) - 2 : -1,
           {cluster_of(row), -(RodePlan::piece_length(row_ptr[row + 1] - begin) / RodePlan::kBlock)}});
    }
  }
  std::ranges::stable_sort(pieces, {}, &Piece::rank);
  std::ranges::stable_sort(residual, {},
                           [&](std::int32_t row) { return std::pair(cluster_of(row), -length(row)); });

  std::vector<std::int32_t> row, split;
  std::vector<std::int64_t> begin;
  for (const Piece& piece : pieces) {
    row.push_back(piece.row);
    begin.push_back(piece.begin);
    split.push_back(piece.split);
  }
  return {Tensor::from(row),      Tensor::from(begin), Tensor::from(split),
          Tensor::from(residual), Tensor::from(slot),  slot.back()};
}

}  // namespace rodeo::kernels::cpu
