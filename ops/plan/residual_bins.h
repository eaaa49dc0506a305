/// Which lanes sum which residual row, where longer rows get more lanes.
#pragma once

#include <bit>
#include <cstdint>

#include "core/random.h"
#include "ops/plan/rode_plan.h"

namespace rodeo {

/// Bins of residual rows by length. A team of lanes takes a row: `lanes` lanes for more than 16 nonzeros,
/// half as many for more than 8, a quarter for all others. A plan sorted by length has the bins in this
/// order. In a plan with clusters all rows are in the last bin. Members have 32 bits: a kernel waits for
/// every cache line of its arguments when it starts.
struct ResidualBins {
  static constexpr std::uint32_t kWarp = 32;

  std::uint32_t over_16, over_8, all;
  std::uint32_t warps_over_16, warps_over_8, warps;  // of the first bin, the second, all three
  std::uint32_t lanes, teams_bits;                   // 2^teams_bits teams of `lanes` lanes in a warp

  ResidualBins(const RodePlan& plan, int max_lanes)
      : over_16(static_cast<std::uint32_t>(plan.residual_over_16)),
        over_8(static_cast<std::uint32_t>(plan.residual_over_8)),
        all(static_cast<std::uint32_t>(plan.num_residual())),
        lanes(static_cast<std::uint32_t>(max_lanes)) {
    const auto teams = kWarp / lanes;
    teams_bits = static_cast<std::uint32_t>(std::countr_zero(teams));
    const auto warps_of = [](std::uint32_t rows, std::uint32_t n) { return rows / n + (rows % n > 0); };
    warps_over_16 = warps_of(over_16, teams);
    warps_over_8 = warps_of(over_8 - over_16, 2 * teams);
    warps = warps_over_16 + warps_over_8 + warps_of(all - over_8, 4 * teams);
  }

  /// The teams of a warp: the row of the first one, and the end of their bin.
  struct Teams {
    std::uint32_t first, end;
    int lanes;
  };
  RODEO_HOST_DEVICE Teams of_warp(std::uint32_t warp) const {
    const auto max_lanes = static_cast<int>(lanes);
    if (warp < warps_over_16) return {warp << teams_bits, over_16, max_lanes};
    warp -= warps_over_16;
    if (warp < warps_over_8) return {over_16 + (warp << (teams_bits + 1)), over_8, max_lanes / 2};
    return {over_8 + ((warp - warps_over_8) << (teams_bits + 2)), all, max_lanes / 4};
  }
};

}  // namespace rodeo
