#include "ops/plan/spmm_config.h"

#include <algorithm>
#include <ostream>
#include <string_view>

#include "core/error.h"
#include "ops/plan/row_clusters.h"

namespace rodeo {
namespace {

constexpr std::int64_t kVectorBytes = 16;
constexpr std::int64_t kWarpLanes = 32;
constexpr std::int64_t kMaxTinyBytes = 16 << 10;  // of all operands: every block copies all of them
constexpr std::int64_t kMaxRounds = 4;

constexpr SpmmTile kNarrow{.lanes = 4}, kWide{.lanes = 8}, kTwoLoads{.lanes = 8, .loads = 2},
    kTwoRaggedLoads = kTwoLoads.as_ragged(), kSixteenLanes{.lanes = 16}, kWidest{.lanes = 16, .loads = 2};

constexpr SpmmTile tile_by_elements(int loads) {
  return {.lanes = 8, .loads = loads, .ragged = loads > 1, .by_elements = true};
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

std::int64_t bytes(const SpmmSizes& sizes) {
  return static_cast<std::int64_t>(sizes.element_bytes);
}

bool has_aligned_rows(const SpmmSizes& sizes) {
  return sizes.x_is_aligned && sizes.k * bytes(sizes) % kVectorBytes == 0;
}

/// kTiny reads its operands by copies of 4 and 16 bytes. A row with a piece would keep one thread busy for
/// longer than all others.
bool should_use_tiny(const SpmmSizes& sizes, const RodeSizes& plan) {
  if (sizes.element_bytes > 4 || plan.pieces > 0 || !sizes.x_is_aligned || !sizes.graph_is_aligned)
    return false;
  const std::int64_t x_bytes = sizes.cols * sizes.heads * sizes.k * bytes(sizes),
                     weight_bytes =
                         sizes.weighting == Weighting::kNone ? 0 : sizes.edges * sizes.heads * bytes(sizes),
                     graph_bytes = sizes.edges * 4 + (sizes.rows + 1) * 8;
  return x_bytes % 4 == 0 && weight_bytes % 4 == 0 && x_bytes + weight_bytes + graph_bytes <= kMaxTinyBytes;
}

/// kTeams is for launches whose time is the longest chain of loads, not bandwidth: all blocks are resident at
/// once. Where there are pieces that chain is longer, so two and a half rounds of blocks do not add to it.
bool should_use_teams(const SpmmSizes& sizes, const RodeSizes& plan, const SpmmTile& tile, std::int64_t tiles,
                      const DeviceProperties& gpu) {
  if (sizes.element_bytes > 4) return false;
  const std::int64_t resident = std::int64_t{spmm_team_blocks(tile)} * gpu.num_multiprocessors;
  const std::int64_t blocks =
      (plan.pieces + ceil_div(plan.residual_warps, kSpmmTeamThreads / kWarpLanes)) * tiles;
  return blocks <= (plan.pieces > 0 ? resident * 5 / 2 : resident);
}

/// Whether one tile of single elements is faster than a padded copy of X. Up to 8 columns are one request
/// either way. On a small graph the launch of the copy takes longer than the narrow loads. Beyond 32 columns
/// the copy must also be shared by few edges, fewer where a load has 16 bits.
bool should_use_elements(const SpmmSizes& sizes) {
  if (sizes.heads > 1) return false;
  const bool is_small = sizes.edges <= std::int64_t{1} << 19;
  if (sizes.k <= 32) return sizes.k <= 8 || is_small;
  if (sizes.k > 48) return false;
  return sizes.element_bytes == 4 ? sizes.edges < 56 * sizes.cols : is_small && sizes.edges < 32 * sizes.cols;
}

/// Tiles that cover the columns from the first one on.
struct TileCover {
  struct Part {
    SpmmTile tile;
    std::int64_t first_column, tiles;
  };
  std::array<Part, SpmmConfig::kMaxLaunches> part;
  int count = 0;
  std::int64_t next_column = 0;

  void add(const SpmmTile& tile, std::int64_t tiles, const SpmmSizes& sizes) {
    if (tiles <= 0) return;
    part[static_cast<std::size_t>(count++)] = {tile, next_column, tiles};
    next_column += tiles * tile.columns(sizes.element_bytes);
  }
};

/// 16-byte loads of a row of X, with all heads.
std::int64_t vectors_of_row(const SpmmSizes& sizes, std::int64_t pitch) {
  return sizes.heads * pitch * bytes(sizes) / kVectorBytes;
}

/// Tiles of 128 bytes; what is then left of 64 or less gets a tile of its own. With two loads a lane, tiles
/// have 256 bytes: rows are started and finished half as often, which matters where they are short or X comes
/// from the L2. Rows of one cluster share an L1, where tiles of 128 bytes hit more often: there one ragged
/// tile of 256 only replaces two launches. f64 is a reference and has tiles of 128 bytes alone.
TileCover cover_columns(const SpmmSizes& sizes, std::int64_t pitch, bool two_loads, bool share_l1) {
  TileCover cover;
  const std::int64_t vectors = vectors_of_row(sizes, pitch);
  const auto left = [&] { return vectors - cover.next_column * bytes(sizes) / kVectorBytes; };
  if (sizes.element_bytes > 4) {
    cover.add(kWide, ceil_div(left(), 8), sizes);
    return cover;
  }
  if (two_loads && sizes.weighting != Weighting::kPerHead) {
    if (!share_l1) {
      if (vectors % 16 > 8) {
        cover.add(kTwoRaggedLoads, ceil_div(vectors, 16), sizes);
        return cover;
      }
      cover.add(kTwoLoads, vectors / 16, sizes);
    } else if (vectors > 8 && 0 < vectors % 8 && vectors % 8 <= 4) {
      cover.add(kWide, vectors / 8 - 1, sizes);
      cover.add(kTwoRaggedLoads, 1, sizes);
      return cover;
    }
  }
  cover.add(kWide, left() / 8 + (left() % 8 > 4), sizes);
  if (left() > 0) cover.add(kNarrow, 1, sizes);
  return cover;
}

/// Tiles of 512 bytes, and one tile for what is left. Rows of X are in the L1 already, so that the time is
/// that of the instructions: a wide tile has fewer of them for each nonzero.
TileCover cover_local_rows(const SpmmSizes& sizes, std::int64_t pitch) {
  TileCover cover;
  const std::int64_t vectors = vectors_of_row(sizes, pitch), left = vectors % 32;
  cover.add(kWidest, vectors / 32, sizes);
  if (left > 16)
    cover.add(kWidest.as_ragged(), 1, sizes);
  else if (left > 8)
    cover.add(left == 16 ? kTwoLoads : kTwoRaggedLoads, 1, sizes);
  else if (left > 0)
    cover.add(left > 4 ? kWide : kNarrow, 1, sizes);
  return cover;
}

/// Tiles of RoDe-TC. With weights of 16 bits they have 256 bytes: the two sets of 16 lanes of a warp share a
/// right operand, so their products take half the MMAs of four sets of 8 lanes.
TileCover cover_for_tensor_cores(const SpmmSizes& sizes, std::int64_t pitch) {
  if (sizes.element_bytes != 2 || sizes.weighting != Weighting::kPerEdge)
    return cover_columns(sizes, pitch, false, false);
  TileCover cover;
  const std::int64_t vectors = vectors_of_row(sizes, pitch), rest = vectors % 16;
  cover.add(kSixteenLanes, vectors / 16 + (rest > 8), sizes);
  if (0 < rest && rest <= 8) cover.add(rest > 4 ? kWide : kNarrow, 1, sizes);
  return cover;
}

SpmmConfig config_of_x(const SpmmSizes& sizes) {
  const bool copies = !has_aligned_rows(sizes);
  return {.pitch = copies ? padded_pitch(sizes.k, sizes.heads, sizes.element_bytes) : sizes.k,
          .copies_x = copies,
          .num_launches = 0,
          .launch_array = {}};
}

void add(SpmmConfig& config, const SpmmLaunch& launch) {
  config.launch_array.at(static_cast<std::size_t>(config.num_launches++)) = launch;
}

int residual_rounds(const RodeSizes& plan, const SpmmTile& tile, std::int64_t tiles,
                    const DeviceProperties& gpu) {
  const std::int64_t warps = ceil_div(plan.residual_rows, kWarpLanes / tile.lanes);
  return rounds_for(warps * tiles, kMaxRounds, gpu);
}

SpmmLaunch rode_launch(const SpmmSizes& sizes, const RodeSizes& plan, const TileCover::Part& part,
                       const DeviceProperties& gpu) {
  if (should_use_teams(sizes, plan, part.tile, part.tiles, gpu))
    return {SpmmKernel::kTeams, part.tile.as_ragged(), part.first_column, part.tiles, 1};
  return {SpmmKernel::kWarps, part.tile, part.first_column, part.tiles,
          residual_rounds(plan, part.tile, part.tiles, gpu)};
}

std::string_view name(SpmmKernel kernel) {
  constexpr std::string_view kNames[] = {"csr", "warps", "teams", "tensor cores", "tiny"};
  return kNames[static_cast<std::size_t>(kernel)];
}

}  // namespace

SpmmConfig choose_rode_config(const SpmmSizes& sizes, const RodeSizes& plan, const DeviceProperties& gpu) {
  SpmmConfig in_place{.pitch = sizes.k, .copies_x = false, .num_launches = 0, .launch_array = {}};
  if (should_use_tiny(sizes, plan)) {
    add(in_place, {SpmmKernel::kTiny, {}, 0, 1, 1});
    return in_place;
  }
  if (!has_aligned_rows(sizes) && sizes.element_bytes <= 4) {
    const std::int64_t tiles = ceil_div(sizes.heads * sizes.k, 8);
    if (should_use_teams(sizes, plan, tile_by_elements(1), tiles, gpu)) {
      add(in_place, {SpmmKernel::kTeams, tile_by_elements(1), 0, tiles, 1});
      return in_place;
    }
    if (should_use_elements(sizes)) {
      const TileCover::Part part{tile_by_elements(static_cast<int>(tiles)), 0, 1};
      add(in_place, rode_launch(sizes, plan, part, gpu));
      return in_place;
    }
  }
  SpmmConfig config = config_of_x(sizes);
  const bool is_large = plan.is_clustered || RowClusters::should_use(sizes.rows, sizes.cols, sizes.edges);
  const TileCover cover = cover_columns(sizes, config.pitch, true, is_large && !plan.local_rows);
  for (int i = 0; i < cover.count; ++i)
    add(config, rode_launch(sizes, plan, cover.part[static_cast<std::size_t>(i)], gpu));
  return config;
}

SpmmConfig choose_rode_tc_config(const SpmmSizes& sizes, const RodeSizes& plan, const DeviceProperties& gpu) {
  SpmmConfig config = config_of_x(sizes);
  const TileCover cover = cover_for_tensor_cores(sizes, config.pitch);
  for (int i = 0; i < cover.count; ++i) {
    const auto& [tile, first_column, tiles] = cover.part[static_cast<std::size_t>(i)];
    add(config,
        {SpmmKernel::kTensorCores, tile, first_column, tiles, residual_rounds(plan, tile, tiles, gpu)});
  }
  return config;
}

SpmmConfig choose_csr_config(const SpmmSizes& sizes) {
  SpmmConfig config = config_of_x(sizes);
  const bool wide = sizes.local_rows && sizes.element_bytes <= 4 && sizes.weighting != Weighting::kPerHead;
  const TileCover cover =
      wide ? cover_local_rows(sizes, config.pitch) : cover_columns(sizes, config.pitch, false, false);
  for (int i = 0; i < cover.count; ++i) {
    const auto& [tile, first_column, tiles] = cover.part[static_cast<std::size_t>(i)];
    add(config, {SpmmKernel::kCsr, tile, first_column, tiles, 1});
  }
  return config;
}

std::int64_t padded_pitch(std::int64_t k, std::int64_t heads, std::size_t element_bytes) {
  constexpr std::int64_t kSectorBytes = 32;
  const auto element = static_cast<std::int64_t>(element_bytes);
  const std::int64_t row_bytes = k * element;
  const std::int64_t unit = heads == 1 && row_bytes > kVectorBytes ? kSectorBytes : kVectorBytes;
  return ceil_div(row_bytes, unit) * unit / element;
}

int rounds_for(std::int64_t warps, std::int64_t most, const DeviceProperties& gpu) {
  const std::int64_t resident = gpu.threads_per_multiprocessor / kWarpLanes * gpu.num_multiprocessors;
  return static_cast<int>(std::clamp<std::int64_t>(warps / resident, 1, most));
}

std::ostream& operator<<(std::ostream& out, const SpmmTile& tile) {
  return out << tile.lanes << " lanes x " << tile.loads << (tile.ragged ? " ragged" : "")
             << (tile.by_elements ? " element" : "") << (tile.loads == 1 ? " load" : " loads");
}

std::ostream& operator<<(std::ostream& out, const SpmmLaunch& launch) {
  out << name(launch.kernel);
  if (launch.kernel == SpmmKernel::kTiny) return out;
  out << ": " << launch.tiles << (launch.tiles == 1 ? " tile of " : " tiles of ") << launch.tile;
  if (launch.rounds > 1) out << ", " << launch.rounds << " rounds";
  return out;
}

std::ostream& operator<<(std::ostream& out, const SpmmConfig& config) {
  if (config.copies_x) out << "x padded to " << config.pitch << " columns; ";
  for (int i = 0; i < config.num_launches; ++i)
    out << (i > 0 ? "; " : "") << config.launch_array[static_cast<std::size_t>(i)];
  return out;
}

}  // namespace rodeo
