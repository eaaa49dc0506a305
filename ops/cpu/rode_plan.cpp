#include <algorithm>
#include <vector>

#include "ops/kernels/sparse.h"

namespace rodeo::kernels::cpu {

RodePlan rode_plan(const Csr& a, const Tensor& cluster, const RodeOptions& options) {
  const auto* row_ptr = a.row_ptr.data<std::int64_t>();

  struct Part {
    std::int32_t row;
    std::int64_t begin;
    std::int32_t length, split;
    std::pair<int, std::int64_t> rank;  // cluster, then longest first
  };
  std::vector<Part> pieces, residual;
  std::vector<std::int64_t> slot{0};
  for (std::int64_t row = 0; row < a.rows; ++row) {
    const std::int64_t begin = row_ptr[row], end = row_ptr[row + 1];
    const int group = cluster.defined() ? cluster.data<std::uint8_t>()[row] : 0;
    const auto add = [&](std::vector<Part>& parts, std::int64_t first, std::int64_t length,
                         std::int64_t split_row, std::int64_t unit) {
      parts.push_back({static_cast<std::int32_t>(row),
                       first,
                       static_cast<std::int32_t>(length),
                       static_cast<std::int32_t>(split_row),
                       {group, -(length / unit)}});
    };
    const std::int64_t count = RodePlan::pieces(end - begin, options);
    if (count == 0) add(residual, begin, end - begin, -1, 1);
    if (count > 1) slot.push_back(slot.back() + count);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t first = begin + i * options.split;
      add(pieces, first, RodePlan::length_of_piece(end - first, options),
          count > 1 ? static_cast<std::int64_t>(slot.size()) - 2 : -1, options.block);
    }
  }
  std::ranges::stable_sort(pieces, {}, &Part::rank);
  std::ranges::stable_sort(residual, {}, &Part::rank);

  const auto column = [](const std::vector<Part>& parts, auto member) {
    std::vector<std::remove_cvref_t<decltype(Part().*member)>> values;
    for (const Part& part : parts) values.push_back(part.*member);
    return Tensor::from(values);
  };
  const auto over = [&](std::int32_t length) -> std::int64_t {
    if (cluster.defined()) return 0;
    return std::ranges::count_if(residual, [&](const Part& part) { return part.length > length; });
  };
  return {column(pieces, &Part::row),
          column(pieces, &Part::begin),
          column(pieces, &Part::length),
          column(pieces, &Part::split),
          column(residual, &Part::row),
          column(residual, &Part::begin),
          column(residual, &Part::length),
          Tensor::from(slot),
          slot.back(),
          options.split,
          options.block,
          over(16),
          over(8)};
}

}  // namespace rodeo::kernels::cpu
