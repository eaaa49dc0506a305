/// Types of ops/sample_neighbors.h that its kernels read too.
#pragma once

#include <cstdint>
#include <limits>

#include "core/random.h"
#include "core/tensor.h"

namespace rodeo {

/// The fan-out that takes all neighbours.
constexpr std::int64_t kAllNeighbors = -1;
/// A node without a number (make_node_marks).
constexpr std::int32_t kUnmarked = std::numeric_limits<std::int32_t>::max();

struct SampleOptions {
  std::int64_t fanout = kAllNeighbors;  // edges of a target, at most
  bool replace = false;                 // draw with replacement

  /// Edges that a row of `degree` edges keeps.
  RODEO_HOST_DEVICE std::int64_t count(std::int64_t degree) const {
    const bool whole = fanout == kAllNeighbors || degree == 0 || (!replace && degree <= fanout);
    return whole ? degree : fanout;
  }
};

/// Names the random numbers of one layer of one batch.
struct SampleKey {
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;  // < 2^24
  std::uint64_t batch = 0;  // < 2^32
  std::uint64_t layer = 0;  // < 2^8

  /// Draw `number` for a row of node `node`, uniform in [0, below).
  RODEO_HOST_DEVICE std::uint64_t draw(std::int64_t node, std::uint64_t number, std::uint64_t below) const {
    constexpr std::uint64_t kNotDropout = 0x5DEECE66D1CE5EEDull;  // other numbers than masks with this seed
    const std::uint64_t stream = epoch << 40 | batch << 8 | layer;
    const std::uint64_t index = static_cast<std::uint64_t>(node) << 32 | number >> 1;
    const Philox4 random = philox(seed ^ kNotDropout, stream, index);
    const std::uint64_t word = number & 1 ? static_cast<std::uint64_t>(random.word[3]) << 32 | random.word[2]
                                          : static_cast<std::uint64_t>(random.word[1]) << 32 | random.word[0];
#ifdef __CUDA_ARCH__
    return __umul64hi(word, below);
#else
    return static_cast<std::uint64_t>(static_cast<unsigned __int128>(word) * below >> 64);
#endif
  }
};

/// Sampled edges as CSR with rows for targets and columns for sources. Capacities depend on the fan-out; what
/// is used of them is known on the device only.
struct NeighborSample {
  Tensor row_ptr;    // i64 [t + 1]; rows from num_targets on are empty, so the last entry is the edges
  Tensor col;        // i32 [capacity], numbers of sources
  Tensor edge_ids;   // i64 [capacity], positions in the graph's edge order
  Tensor nodes;      // i64 [t + capacity], the node of each source; the first ones are the targets
  Tensor num_nodes;  // i64 [1], sources
};

}  // namespace rodeo
