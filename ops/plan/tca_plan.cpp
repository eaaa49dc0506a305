#include "ops/plan/tca_plan.h"

#include <ostream>

#include "ops/plan/tca_map.h"

namespace rodeo {
namespace {

/// MMAs of the warp `member` for one chunk of one tile, of which `columns` exist.
template <int kElementBytes, int kBlocks>
std::int64_t mmas_of_tile(int member, std::int64_t columns) {
  using Map = tca::Map<kElementBytes, kBlocks>;
  std::int64_t mmas = 0;
  for (int part = 0; part < 2; ++part)
    if (Map::first_column(member, part) < columns) mmas += Map::kMmas / 2;
  return mmas;
}

template <int kElementBytes>
std::int64_t mmas_of_tile(std::int64_t blocks, int member, std::int64_t columns) {
  switch (blocks) {
    case 1:
      return mmas_of_tile<kElementBytes, 1>(member, columns);
    case 2:
      return mmas_of_tile<kElementBytes, 2>(member, columns);
    case 4:
      return mmas_of_tile<kElementBytes, 4>(member, columns);
    default:
      return mmas_of_tile<kElementBytes, 8>(member, columns);
  }
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const TcaPlan& plan) {
  return out << plan.warpid_within_row.numel() << " warps";
}

std::int64_t count_mmas(const TcaPlan& plan, std::span<const std::int64_t> row_ptr, std::int64_t n,
                        std::size_t element_bytes) {
  const auto *rows = plan.row_id_for_each_warp.data<std::int32_t>(),
             *warps = plan.num_warps_per_row.data<std::int32_t>(),
             *ids = plan.warpid_within_row.data<std::int32_t>();
  const std::int64_t tiles = TcaPlan::tiles(n, element_bytes),
                     tile_columns = TcaPlan::kTileBytes / static_cast<std::int64_t>(element_bytes);
  std::int64_t total = 0;
  for (std::int64_t w = 0; w < plan.row_id_for_each_warp.numel(); ++w) {
    if (rows[w] < 0) continue;
    const auto row = static_cast<std::size_t>(rows[w]);
    const std::int64_t length = row_ptr[row + 1] - row_ptr[row], of_row = warps[row],
                       of_block = of_row < TcaPlan::kWarps ? of_row : TcaPlan::kWarps,
                       chunks = (length + TcaPlan::kChunk - 1) / TcaPlan::kChunk;
    const auto member = static_cast<int>(ids[w] % of_block);
    for (std::int64_t tile = ids[w] / of_block; tile < tiles; tile += of_row / of_block) {
      const std::int64_t columns = n - tile * tile_columns;
      total += chunks * (element_bytes == 2 ? mmas_of_tile<2>(of_block, member, columns)
                                            : mmas_of_tile<4>(of_block, member, columns));
    }
  }
  return total;
}

std::int64_t model_mmas(std::span<const std::int64_t> row_ptr, std::int64_t n) {
  std::int64_t total = 0;
  for (std::size_t row = 0; row + 1 < row_ptr.size(); ++row)
    total += TcaPlan::mmas(row_ptr[row + 1] - row_ptr[row], n);
  return total;
}

}  // namespace rodeo
