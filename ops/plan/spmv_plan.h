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

/// Where the algorithms of SpMV meet, as measured on graphs from 10^4 to 10^8 nonzeros.
struct SpmvRule {
  static constexpr double kDense = 128;  // mean row length from which RoDe's clusters find x in the caches
  static constexpr double kStreamed = 4 << 20;      // nonzeros from which kStream fills a large GPU
  static constexpr double kEvenStreamed = 1 << 20;  // the same where RoDe has no long rows to cut
  static constexpr double kEven = 4;                // longest row of a matrix of even rows, in mean rows
};

/// kRode where rows are long on average. kStream where there are enough tiles to fill a GPU. On smaller
/// matrices kVector where rows are even, else kRode.
constexpr SpmvAlgorithm choose_spmv_algorithm(const RowLengths& lengths) {
  const double nonzeros = lengths.mean * static_cast<double>(lengths.rows);
  const bool even = static_cast<double>(lengths.longest) <= SpmvRule::kEven * lengths.mean;
  if (lengths.mean >= SpmvRule::kDense) return SpmvAlgorithm::kRode;
  if (nonzeros >= (even ? SpmvRule::kEvenStreamed : SpmvRule::kStreamed)) return SpmvAlgorithm::kStream;
  return even ? SpmvAlgorithm::kVector : SpmvAlgorithm::kRode;
}

/// Whether lanes of kRode's pieces ask for each element of x in turn: other warps hide that they wait.
constexpr bool reads_x_in_turn(std::int64_t edges) {
  return static_cast<double>(edges) >= SpmvRule::kStreamed;
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
