/// How SpMV maps nonzeros to threads: pure functions of row lengths.
#pragma once

#include <algorithm>
#include <cstdint>

#include "ops/spmv_types.h"

namespace rodeo {

struct RowLengths {
  std::int64_t rows = 0;
  std::int64_t longest = 0;
  double mean = 0;
};

/// THREADS_PER_VECTOR: the power of two in [2, 16] that is nearest to the mean row length, the smaller of two
/// equally near. 32, as published, is too many where every thread has four nonzeros in flight.
constexpr int threads_per_vector(double mean) {
  int threads = 2;
  while (threads < 16 && mean > 1.5 * threads) threads *= 2;
  return threads;
}

/// What kVector and kRode cost on a large GPU, in microseconds: coarse, but the cases where it matters are
/// far apart.
struct SpmvCost {
  static constexpr double kNonzero = 1e-5;  // throughput: 100 G random elements of x a second
  static constexpr double kStep = 0.2;   // of a vector along its row; a block is faster, kRode still more so
  static constexpr double kPieces = 2;   // the longest chain of RoDe's pieces, beyond that of a short row
  static constexpr double kDense = 128;  // nonzeros a row from which on RoDe's clusters find x in the caches
};

/// kVector, unless rows are long, or the longest one alone would take a vector longer than kRode takes for
/// all.
constexpr SpmvAlgorithm choose_spmv_algorithm(const RowLengths& lengths) {
  const double all = lengths.mean * static_cast<double>(lengths.rows) * SpmvCost::kNonzero;
  const double longest =
      static_cast<double>(lengths.longest) / threads_per_vector(lengths.mean) * SpmvCost::kStep;
  const bool suits_rode = lengths.mean >= SpmvCost::kDense || longest > all + SpmvCost::kPieces;
  return suits_rode ? SpmvAlgorithm::kRode : SpmvAlgorithm::kVector;
}

/// Whether kRode reads x from the shared memory of each block: a copy fits a block of any supported GPU
/// (99 KiB), two a multiprocessor of an H200, and all copies together are less than what is gathered.
constexpr bool stages_x(std::int64_t cols, std::int64_t edges, std::size_t element_bytes) {
  constexpr std::int64_t kMostBytes = 96 << 10, kManyEdges = 1 << 17, kEdgesOfElement = 16,
                         kMostEdges = 1 << 30;
  return cols * static_cast<std::int64_t>(element_bytes) <= kMostBytes && edges >= kManyEdges &&
         edges >= kEdgesOfElement * cols && edges <= kMostEdges;
}

/// Nonzeros that one warp takes in the segmented reduction: a multiple of 128 (four steps of a warp), enough
/// for about 8192 warps, within [256, 1024]. What one warp can do alone, it does.
constexpr std::int64_t segment_interval(std::int64_t edges) {
  constexpr std::int64_t kSteps = 128, kShortest = 256, kLongest = 1024, kWarps = 8192;
  if (edges <= kLongest) return kLongest;
  return std::clamp((edges + kWarps * kSteps - 1) / (kWarps * kSteps) * kSteps, kShortest, kLongest);
}

}  // namespace rodeo
