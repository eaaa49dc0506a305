/// Which lanes take which row of RoDe's residual part, where longer rows are to have more lanes.
#pragma once

#include <bit>
#include <cstdint>

#include "core/cuda/launch.cuh"
#include "ops/plan/rode_plan.h"

namespace rodeo::kernels::cuda {

/// Rows of more than 16 nonzeros have `lanes` lanes, those of more than 8 half as many, all others a quarter:
/// a team each. The plan has them in this order; where it does not (clusters), all are taken for short.
/// Rows have 31 bits; a kernel that begins cold waits for every line of its arguments.
struct ResidualBins {
  std::uint32_t over_16, over_8, all;
  std::uint32_t warps_over_16, warps_over_8, warps;  // over_8: of those up to 16
  std::uint32_t lanes, teams_bits;                   // 2^teams_bits teams of `lanes` lanes in a warp

  ResidualBins(const RodePlan& plan, int most_lanes)
      : over_16(static_cast<std::uint32_t>(plan.residual_over_16)),
        over_8(static_cast<std::uint32_t>(plan.residual_over_8)),
        all(static_cast<std::uint32_t>(plan.num_residual())),
        lanes(static_cast<std::uint32_t>(most_lanes)) {
    const auto teams = static_cast<std::uint32_t>(rodeo::cuda::kWarp) / lanes;
    teams_bits = static_cast<std::uint32_t>(std::countr_zero(teams));
    const auto warps_of = [](std::uint32_t rows, std::uint32_t n) { return rows / n + (rows % n > 0); };
    warps_over_16 = warps_of(over_16, teams);
    warps_over_8 = warps_of(over_8 - over_16, 2 * teams);
    warps = warps_over_16 + warps_over_8 + warps_of(all - over_8, 4 * teams);
  }

  /// Where the teams of a warp begin, and where those of their kind end.
  struct Teams {
    std::uint32_t first, end;
    int lanes;
  };
  __device__ Teams of_warp(std::uint32_t warp) const {
    const auto most = static_cast<int>(lanes);
    if (warp < warps_over_16) return {warp << teams_bits, over_16, most};
    warp -= warps_over_16;
    if (warp < warps_over_8) return {over_16 + (warp << (teams_bits + 1)), over_8, most / 2};
    return {over_8 + ((warp - warps_over_8) << (teams_bits + 2)), all, most / 4};
  }
};

}  // namespace rodeo::kernels::cuda
