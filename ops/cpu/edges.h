/// Parallel loops over edges, balanced by the number of edges.
#pragma once

#include "core/adjacency.h"
#include "ops/cpu/loops.h"

namespace rodeo::kernels::cpu {

/// Calls f(row, begin, end) for parts of rows that cover every edge once. `work`: elements per edge.
template <class F>
void for_each_row_part(const Csr& a, std::int64_t work, F&& f) {
  constexpr std::int64_t kChunk = 4096;
  const auto* row_ptr = a.row_ptr.data<std::int64_t>();
  const std::int64_t edges = a.col.numel(), chunks = (edges + kChunk - 1) / kChunk;
#pragma omp parallel for schedule(dynamic) if (edges * work > kSerial)
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    const std::int64_t last = std::min(edges, (chunk + 1) * kChunk);
    std::int64_t begin = chunk * kChunk;
    std::int64_t row = std::upper_bound(row_ptr, row_ptr + a.rows + 1, begin) - row_ptr - 1;
    for (; begin < last; ++row) {
      const std::int64_t end = std::min(last, row_ptr[row + 1]);
      if (end > begin) f(row, begin, end);
      begin = std::max(begin, end);
    }
  }
}

}  // namespace rodeo::kernels::cpu
