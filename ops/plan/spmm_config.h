/// Launch configurations of SpMM: which kernel of an algorithm runs, with which tiles. Pure functions of
/// sizes and device properties. The kernels are in ops/cuda/spmm; ops/plan/spmm_cases.h lists their template
/// cases. Which algorithm runs is chosen before (ops/spmm_tuner.h).
///
/// Y = A X with X [cols, heads, k]. A group of lanes loads one row of X, or a column tile of it, at a time.
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
  kTeams,        // RoDe: a thread block per piece, up to a warp per residual row; for small graphs
  kTensorCores,  // RoDe-TC: as kWarps, summed by tensor cores
  kTiny,         // a thread per element of Y, all operands in shared memory
};

/// The columns of X that a group of lanes covers.
struct SpmmTile {
  int lanes = 8;             // of the group
  int loads = 1;             // per lane, 16 bytes each
  bool ragged = false;       // the columns may end before the last load of a lane
  bool by_elements = false;  // a load is one element instead: rows of X need no alignment

  constexpr std::int64_t columns(std::size_t element_bytes) const {
    return std::int64_t{lanes} * loads * (by_elements ? 1 : 16 / static_cast<int>(element_bytes));
  }
  /// This tile for any number of columns.
  constexpr SpmmTile as_ragged() const { return {lanes, loads, loads > 1, by_elements}; }
  bool operator==(const SpmmTile&) const = default;
};

struct SpmmSizes {
  std::int64_t rows = 0, cols = 0, edges = 0;
  std::int64_t heads = 1, k = 0;  // X is [cols, heads, k]
  std::size_t element_bytes = 4;
  Weighting weighting = Weighting::kNone;
  bool x_is_aligned = true;      // X begins at a multiple of 16 bytes
  bool graph_is_aligned = true;  // row pointers, column indices and edge weights do, too
  bool local_rows = false;       // consecutive rows have columns in common (RowLocality::is_local)
};

/// Counts of a RodePlan.
struct RodeSizes {
  std::int64_t pieces = 0, residual_rows = 0;
  std::int64_t residual_warps = 0;  // warps that kTeams needs for the residual rows
  bool local_rows = false;          // RodePlan::local_rows
  bool is_clustered = false;        // RodePlan::is_clustered
};

/// One kernel launch, for `tiles` column tiles from first_column on. They are the y dimension of the grid.
struct SpmmLaunch {
  SpmmKernel kernel = SpmmKernel::kWarps;
  SpmmTile tile;
  std::int64_t first_column = 0, tiles = 1;
  int rounds = 1;  // residual rows that a group of lanes sums one after the other
};

/// The launches of one product. Each has its own kind of tile and its own range of columns.
struct SpmmConfig {
  static constexpr int kMaxLaunches = 2;

  std::int64_t pitch = 0;  // columns from one head of X to the next; more than k in a padded copy of X
  bool copies_x = false;   // the kernels read a copy of X whose rows are padded to whole 16-byte loads
  int num_launches = 0;
  std::array<SpmmLaunch, kMaxLaunches> launch_array;

  std::span<const SpmmLaunch> launches() const {
    return {launch_array.data(), static_cast<std::size_t>(num_launches)};
  }
};

/// Such as "x padded to 44 columns; warps: 1 tile of 8 lanes x 2 loads, 4 rounds; warps: 1 tile of 4 lanes x
/// 1 load".
std::ostream& operator<<(std::ostream& out, const SpmmTile& tile);
std::ostream& operator<<(std::ostream& out, const SpmmLaunch& launch);
std::ostream& operator<<(std::ostream& out, const SpmmConfig& config);

/// The launches of SpmmAlgorithm::kRode, kRodeTc and kCsr.
SpmmConfig choose_rode_config(const SpmmSizes& sizes, const RodeSizes& plan, const DeviceProperties& gpu);
SpmmConfig choose_rode_tc_config(const SpmmSizes& sizes, const RodeSizes& plan, const DeviceProperties& gpu);
SpmmConfig choose_csr_config(const SpmmSizes& sizes);

/// Resident thread blocks per multiprocessor that the kTeams kernel is compiled for (__launch_bounds__).
constexpr int spmm_team_blocks(const SpmmTile& tile) {
  return tile.loads == 2 ? 4 : tile.lanes == 8 ? 6 : 8;
}
constexpr int kSpmmTeamThreads = 128;

/// Columns from one row of a padded copy to the next: a multiple of 16 bytes. With one head, and rows longer
/// than 16 bytes, a multiple of 32 bytes (a sector).
std::int64_t padded_pitch(std::int64_t k, std::int64_t heads, std::size_t element_bytes);

/// How many units of work each warp takes, one after the other: at most `most`, and so few that the warps
/// still fill every multiprocessor. `warps`: the number of units.
int rounds_for(std::int64_t warps, std::int64_t most, const DeviceProperties& gpu);

}  // namespace rodeo
