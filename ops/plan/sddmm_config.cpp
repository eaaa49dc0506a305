#include "ops/plan/sddmm_config.h"

#include <algorithm>
#include <iterator>
#include <ostream>

#include "core/error.h"

namespace rodeo {
namespace {

constexpr std::int64_t kChunkBytes = 16;
constexpr double kSomewhatLocal =
    0.2;  // RowLocality::reused_fraction of a 7-point grid is more, of random graphs 0
constexpr std::int64_t kMaxSliceChunks = std::end(kSddmmCases)[-1].tile.max_chunks();

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

/// The whole head where the L2 holds b2, and where it would not even hold the narrowest slice: a random
/// access to DRAM costs less per byte the longer it is. Several heads already are slices.
std::int64_t choose_slice_chunks(const SddmmSizes& sizes, std::int64_t chunks, const DeviceProperties& gpu) {
  const auto l2 = static_cast<std::int64_t>(gpu.l2_bytes);
  const std::int64_t b2_bytes =
      sizes.cols * sizes.heads * sizes.pitch * static_cast<std::int64_t>(sizes.element_bytes);
  if (sizes.heads == 1 && b2_bytes > l2)
    for (const std::int64_t width : {16, 8})
      if (sizes.cols * width * kChunkBytes <= l2) return std::min(width, chunks);
  return ceil_div(chunks, ceil_div(chunks, kMaxSliceChunks));
}

}  // namespace

// A gather of b2 that misses the L1 takes so long that loads of b1, which mostly hit it, cost nothing beside
// it: then equal work for all warps is worth more than a row of b1 in registers. Where gathers hit the L1,
// its throughput is the limit, and b1 is half of the loads. They hit in the order of clusters, in long rows,
// on meshes, and where a small b2 has popular rows. Wide heads amortise the start of a row. Heads of up to
// 32 bytes have so few loads that only very long rows do. f64 is a reference and goes by rows.
SddmmAlgorithm choose_sddmm_algorithm(const SddmmSizes& sizes) {
  constexpr std::int64_t kVeryLongRow = 256, kLongRow = 80, kFullRow = 32, kClusterRow = 24, kMeshRow = 16;
  constexpr std::int64_t kTinyBytes = 32, kMediumBytes = 64, kWideBytes = 512, kSmallB2 = 4 << 20;
  constexpr std::int64_t kFewElements = 16;
  constexpr double kLocal = 0.45;
  const auto mean_is = [&](std::int64_t length) { return sizes.edges >= length * sizes.rows; };
  const std::int64_t bytes = sizes.heads * sizes.k * static_cast<std::int64_t>(sizes.element_bytes);
  const bool has_popular_rows = bytes > kMediumBytes && sizes.cols * bytes <= kSmallB2 && mean_is(kFullRow) &&
                                sizes.longest_row * sizes.rows >= 8 * sizes.edges;
  const bool is_local = sizes.reuse >= kLocal;
  const bool is_mesh = sizes.reuse >= kSomewhatLocal && sizes.longest_row > 0 &&
                       sizes.longest_row * sizes.rows <= 2 * sizes.edges;
  const bool has_narrow_rows =
      bytes <= kMediumBytes && (is_local || (is_mesh && sizes.heads * sizes.k <= kFewElements));
  bool by_rows = mean_is(kVeryLongRow) || (sizes.weighted && has_narrow_rows);
  if (bytes > kTinyBytes)
    by_rows = by_rows || mean_is(kLongRow) || (sizes.has_clusters && mean_is(kClusterRow)) ||
              (is_local && mean_is(kMeshRow)) || (bytes >= kWideBytes && mean_is(kFullRow)) ||
              has_popular_rows;
  const bool can_go_by_edges = sizes.b1_is_aligned && sizes.element_bytes <= 4;
  return can_go_by_edges && !by_rows ? SddmmAlgorithm::kEdges : SddmmAlgorithm::kRows;
}

SddmmConfig choose_sddmm_config(const SddmmSizes& sizes, SddmmAlgorithm algorithm,
                                const DeviceProperties& gpu) {
  const std::int64_t chunks = ceil_div(sizes.k * static_cast<std::int64_t>(sizes.element_bytes), kChunkBytes);
  return {.algorithm = algorithm,
          .chunks = chunks,
          .slice_chunks = choose_slice_chunks(sizes, chunks, gpu),
          .on_mesh = algorithm == SddmmAlgorithm::kRows && sizes.reuse >= kSomewhatLocal};
}

SddmmTile choose_sddmm_tile(std::int64_t slice_chunks, std::size_t element_bytes, bool on_mesh) {
  for (const SddmmCase& c : kSddmmCases)
    if (slice_chunks <= c.tile.max_chunks() && (element_bytes <= 4 || c.f64) && (on_mesh || !c.mesh))
      return c.tile;
  fail("[sddmm] a slice has at most ", kMaxSliceChunks, " chunks, got ", slice_chunks);
}

std::ostream& operator<<(std::ostream& out, const SddmmTile& tile) {
  return out << tile.lanes << " lanes x " << tile.chunks << (tile.chunks == 1 ? " load" : " loads");
}

std::ostream& operator<<(std::ostream& out, const SddmmConfig& config) {
  out << config.algorithm << ", " << config.chunks << " chunks";
  if (config.has_slices()) out << " in slices of " << config.slice_chunks;
  if (config.on_mesh) out << ", on a mesh";
  return out;
}

}  // namespace rodeo
