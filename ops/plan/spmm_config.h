/// Launch configurations of SpMM: pure functions from sizes and device properties. The kernels are in
/// ops/cuda/spmm; ops/plan/spmm_cases.h lists their template cases.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <span>

#include "core/device_properties.h"

namespace rodeo {

/// Edge weights: absent, [edges], or [edges, heads].
enum class Weighting { kNone, kPerEdge, kPerHead };

enum class SpmmKernel {
  kCsr,          // a group of lanes per row, without a plan
  kWarps,        // RoDe: a warp per piece, a group of lanes per residual row
  kTeams,        // RoDe: a block per piece, up to a warp per residual row
  kTensorCores,  // TCA: as kWarps, summed by MMA
  kTiny,         // a thread per element of Y, all operands in shared memory
};

/// Columns of X that a group of lanes covers.
struct SpmmTile {
  int lanes = 8;
  int loads = 1;             // of a lane, each 16 bytes wide
  bool ragged = false;       // the last load may begin past the last column
  bool by_elements = false;  // a load is one element: rows of X may begin at any address

  constexpr std::int64_t columns(std::size_t element_bytes) const {
    return std::int64_t{lanes} * loads * (by_elements ? 1 : 16 / static_cast<int>(element_bytes));
  }
  /// The same tile for any number of columns.
  constexpr SpmmTile as_ragged() const { return {lanes, loads, loads > 1, by_elements}; }
  bool operator==(const SpmmTile&) const = default;
};

struct SpmmSizes {
  std::int64_t rows = 0, cols = 0, edges = 0;
  std::int64_t heads = 1, k = 0;  // X is [cols, heads, k]
  std::size_t element_bytes = 4;
  Weighting weighting = Weighting::kNone;
  bool x_is_aligned = true;      // X begins at a multiple of 16 bytes
  bool graph_is_aligned = true;  // so do the row pointers, columns and edge weights
};

/// Counts of a RodePlan.
struct RodeSizes {
  std::int64_t pieces = 0, residual_rows = 0;
  std::int64_t residual_warps = 0;  // of kTeams
};

/// One kernel launch. The grid is [work of RoDe, tiles].
struct SpmmLaunch {
  SpmmKernel kernel = SpmmKernel::kWarps;
  SpmmTile tile;
  std::int64_t first_column = 0, tiles = 1;
  int rounds = 1;  // residual rows that a group of lanes sums in turn
};

/// One launch per kind of tile, side by side in the columns.
struct SpmmConfig {
  static constexpr int kMaxLaunches = 2;

  std::int64_t pitch = 0;  // columns from a head of X to the next; more than k in a padded copy of X
  bool copies_x = false;
  int num_launches = 0;
  std::array<SpmmLaunch, kMaxLaunches> launch_array;

  std::span<const SpmmLaunch> launches() const {
    return {launch_array.data(), static_cast<std::size_t>(num_launches)};
  }
};

/// "x padded to 44 columns; warps: 1 tile of 8 lanes x 2 loads, 4 rounds; warps: 1 tile of 4 lanes x 1 load"
std::ostream& operator<<(std::ostream& out, const SpmmTile& tile);
std::ostream& operator<<(std::ostream& out, const SpmmLaunch& launch);
std::ostream& operator<<(std::ostream& out, const SpmmConfig& config);

SpmmConfig choose_rode_config(const SpmmSizes& sizes, const RodeSizes& plan, const DeviceProperties& gpu);
SpmmConfig choose_tca_config(const SpmmSizes& sizes, const RodeSizes& plan, const DeviceProperties& gpu);
SpmmConfig choose_csr_config(const SpmmSizes& sizes);

/// Resident blocks per multiprocessor that the kTeams kernel is compiled for.
constexpr int spmm_team_blocks(const SpmmTile& tile) {
  return tile.loads == 2 ? 4 : tile.lanes == 8 ? 6 : 8;
}
constexpr int kSpmmTeamThreads = 128;

/// Columns from one row of a padded copy to the next: a multiple of 16 bytes, of 32 (a sector) for rows of
/// one head that are longer than 16.
std::int64_t padded_pitch(std::int64_t k, std::int64_t heads, std::size_t element_bytes);

/// How many units of work a warp takes in turn, up to `most`. `warps` is the number of warps that take one
/// each. Every multiprocessor still gets as many warps as it can hold.
int rounds_for(std::int64_t warps, std::int64_t most, const DeviceProperties& gpu);

}  // namespace rodeo
