/// Choices of SpMV: pure functions of row lengths, sizes and device properties.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/device_properties.h"
#include "ops/spmv_types.h"

namespace rodeo {

struct RowLengths {
  std::int64_t rows = 0;
  std::int64_t longest = 0;
  double mean = 0;
};

/// THREADS_PER_VECTOR: the power of two in [2, 16] nearest to the mean row length, the smaller of two equally
/// near. The published maximum, 32, is too large for lanes that have four nonzeros in flight.
constexpr int threads_per_vector(double mean) {
  int threads = 2;
  while (threads < 16 && mean > 1.5 * threads) threads *= 2;
  return threads;
}

/// Estimated costs of kVector and kRode on a large GPU, in microseconds. Orders of magnitude are enough: the
/// choice matters only where they are far apart.
struct SpmvCost {
  static constexpr double kNonzero = 1e-5;  // one of many: 100 G random elements of x per second
  static constexpr double kStep = 0.2;      // of a vector along its row
  static constexpr double kPieces = 2;   // the longest chain of RoDe's pieces, beyond that of a residual row
  static constexpr double kDense = 128;  // mean row length from which RoDe's clusters find x in the caches
};

/// kRode where rows are long on average, or where a vector would take longer for the longest row than kRode
/// for all rows; else kVector.
constexpr SpmvAlgorithm choose_spmv_algorithm(const RowLengths& lengths) {
  const double all = lengths.mean * static_cast<double>(lengths.rows) * SpmvCost::kNonzero;
  const double longest =
      static_cast<double>(lengths.longest) / threads_per_vector(lengths.mean) * SpmvCost::kStep;
  const bool use_rode = lengths.mean >= SpmvCost::kDense || longest > all + SpmvCost::kPieces;
  return use_rode ? SpmvAlgorithm::kRode : SpmvAlgorithm::kVector;
}

constexpr int kSpmvStagedThreads = 1024;

/// Resident blocks per multiprocessor of kRode's kernel that stages x in shared memory.
constexpr int staged_blocks(const DeviceProperties& gpu) {
  return std::max(1, gpu.threads_per_multiprocessor / kSpmvStagedThreads);
}

/// Whether kRode stages x: all resident blocks have room for a copy, and all copies together are less than
/// what is gathered. kMaxBytes fits a block of every supported GPU. Warps are counted in 32 bits.
constexpr bool should_stage_x(std::int64_t cols, std::int64_t edges, std::size_t element_bytes,
                              const DeviceProperties& gpu) {
  constexpr std::int64_t kMaxBytes = 96 << 10, kMinEdges = 1 << 17, kMinEdgesPerColumn = 16,
                         kMaxEdges = 1 << 30;
  constexpr std::size_t kReservedBytes = 1 << 10;  // by the driver, of each block's shared memory
  const std::size_t share =
                        gpu.shared_bytes_per_multiprocessor / static_cast<std::size_t>(staged_blocks(gpu)),
                    room = std::min(gpu.shared_bytes_per_block, share - std::min(share, kReservedBytes));
  const std::int64_t bytes = cols * static_cast<std::int64_t>(element_bytes);
  return bytes <= std::min(kMaxBytes, static_cast<std::int64_t>(room)) && edges >= kMinEdges &&
         edges >= kMinEdgesPerColumn * cols && edges <= kMaxEdges;
}

/// Nonzeros of a warp in the segmented reduction: a multiple of 128 (four steps of a warp) in [256, 1024],
/// for about 8192 warps. One warp takes all of up to 1024. A function of the number of edges alone, so that
/// every GPU has the same order of additions.
constexpr std::int64_t segment_interval(std::int64_t edges) {
  constexpr std::int64_t kSteps = 128, kShortest = 256, kLongest = 1024, kWarps = 8192;
  if (edges <= kLongest) return kLongest;
  return std::clamp((edges + kWarps * kSteps - 1) / (kWarps * kSteps) * kSteps, kShortest, kLongest);
}

}  // namespace rodeo
