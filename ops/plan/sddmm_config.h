/// Launch configurations of SDDMM's dots: pure functions from sizes and device properties. The kernels are in
/// ops/cuda/sddmm.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>

#include "core/device_properties.h"
#include "ops/sddmm_types.h"

namespace rodeo {

/// How a warp covers one head of a row of b1 and b2.
struct SddmmTile {
  int lanes = 8;
  int chunks = 1;  // 16-byte loads of a lane

  constexpr int max_chunks() const { return lanes * chunks; }
  bool operator==(const SddmmTile&) const = default;
};

struct SddmmSizes {
  std::int64_t rows = 0, cols = 0, edges = 0;
  std::int64_t heads = 1, k = 0;
  std::size_t element_bytes = 4;
  bool b1_is_aligned = true;  // rows of b1 can be read 16 bytes at a time
  std::int64_t pitch = 0;     // columns from a head of b2 to the next
  bool has_clusters = false;  // RoDe's plan is ordered by clusters of rows
  double reuse = 0;           // RowLocality::reused_fraction
  std::int64_t longest_row = 0;
  bool weighted = false;
};

struct SddmmConfig {
  SddmmAlgorithm algorithm = SddmmAlgorithm::kRows;  // never kAuto
  std::int64_t chunks = 0;                           // of 16 bytes, of a head
  std::int64_t slice_chunks = 0;                     // of one launch
  bool on_mesh = false;                              // by rows, where consecutive rows have columns in common

  bool has_slices() const { return slice_chunks < chunks; }
};

/// "edges, 26 chunks in slices of 16"
std::ostream& operator<<(std::ostream& out, const SddmmTile& tile);
std::ostream& operator<<(std::ostream& out, const SddmmConfig& config);

/// A template case of kRows and of kEdges, for f32, f16 and bf16, and with `f64` for f64. With `mesh`, only
/// of kRows, and only where SddmmConfig::on_mesh.
struct SddmmCase {
  SddmmTile tile;
  bool f64, mesh = false;
};
// clang-format off
inline constexpr SddmmCase kSddmmCases[] = {
    // The fewest lanes and loads that cover a slice, so that as many edges as possible are side by side.
    {{2, 1}, false},
    {{4, 1}, false},
    {{8, 1}, true},    // f64 is a reference: a tile for heads of up to 16 columns, and one for all others
    {{8, 2}, false},   // two loads: fewer shuffles than with 16 lanes
    // Where gathers hit the L1, shuffles are what costs. Elsewhere registers for more warps are worth more.
    {{8, 4}, false, true},
    {{32, 1}, false},
    {{16, 4}, false, true},
    {{32, 2}, false},
    {{32, 4}, true},   // the longest slice
};
// clang-format on

/// The algorithm that is faster, from sizes, clusters, reuse, longest row and weights. pitch is not read.
SddmmAlgorithm choose_sddmm_algorithm(const SddmmSizes& sizes);

/// algorithm: kRows or kEdges. Of the sizes cols, heads, k, element_bytes, pitch and reuse are read.
SddmmConfig choose_sddmm_config(const SddmmSizes& sizes, SddmmAlgorithm algorithm,
                                const DeviceProperties& gpu);

/// The first case that covers a slice.
SddmmTile choose_sddmm_tile(std::int64_t slice_chunks, std::size_t element_bytes, bool on_mesh);

}  // namespace rodeo
