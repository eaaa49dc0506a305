#include "ops/plan/sddmm_config.h"

#include <algorithm>
#include <iterator>
#include <ostream>

#include "core/error.h"
#include "ops/plan/rode_plan.h"
#include "ops/plan/row_clusters.h"

namespace rodeo {
namespace {

constexpr std::int64_t kChunkBytes = 16;
constexpr std::int64_t kMaxSliceChunks = std::end(kSddmmCases)[-1].tile.max_chunks();

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

/// Across rows where these are short on average, unless the plan's order of clusters is worth more. f64 is a
/// reference and has one order.
bool should_go_across_rows(const SddmmSizes& sizes) {
  return sizes.b1_is_aligned && sizes.element_bytes <= 4 && sizes.edges < RodePlan::kBlock * sizes.rows &&
         !RowClusters::should_use(sizes.rows, sizes.cols, sizes.edges);
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

SddmmConfig choose_sddmm_config(const SddmmSizes& sizes, const DeviceProperties& gpu) {
  const std::int64_t chunks = ceil_div(sizes.k * static_cast<std::int64_t>(sizes.element_bytes), kChunkBytes);
  return {should_go_across_rows(sizes), chunks, choose_slice_chunks(sizes, chunks, gpu)};
}

SddmmTile choose_sddmm_tile(std::int64_t slice_chunks, std::size_t element_bytes) {
  for (const SddmmCase& c : kSddmmCases)
    if (slice_chunks <= c.tile.max_chunks() && (element_bytes <= 4 || c.f64)) return c.tile;
  fail("[sddmm] a slice has at most ", kMaxSliceChunks, " chunks, got ", slice_chunks);
}

std::ostream& operator<<(std::ostream& out, const SddmmTile& tile) {
  return out << tile.lanes << " lanes x " << tile.chunks << (tile.chunks == 1 ? " load" : " loads");
}

std::ostream& operator<<(std::ostream& out, const SddmmConfig& config) {
  out << (config.across_rows ? "across rows, " : "by rows, ") << config.chunks << " chunks";
  if (config.has_slices()) out << " in slices of " << config.slice_chunks;
  return out;
}

}  // namespace rodeo
