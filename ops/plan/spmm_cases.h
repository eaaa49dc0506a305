/// The template cases of SpMM's kernels and the reason for each. The kernels' dispatch instantiates exactly
/// these; a test checks that every configuration that can be chosen is one of them.
#pragma once

#include "ops/plan/spmm_config.h"

namespace rodeo {

/// A set of kernels or weightings, as bits.
template <class... Value>
constexpr unsigned bits_of(Value... value) {
  return (0U | ... | (1U << static_cast<unsigned>(value)));
}

struct SpmmCase {
  SpmmTile tile;
  unsigned kernels, weightings;
  std::size_t max_element_bytes;  // 4: f32, f16 and bf16; 8: f64, too

  constexpr bool has(SpmmKernel kernel, std::size_t element_bytes) const {
    return (kernels & bits_of(kernel)) != 0 && element_bytes <= max_element_bytes;
  }
  constexpr bool has(Weighting weighting) const { return (weightings & bits_of(weighting)) != 0; }
};

namespace spmm_case {
using enum SpmmKernel;
using enum Weighting;
inline constexpr unsigned kOneHead = bits_of(kNone, kPerEdge), kAllWeights = kOneHead | bits_of(kPerHead);
}  // namespace spmm_case

// clang-format off
inline constexpr SpmmCase kSpmmCases[] = {
    // 128 bytes of a row. f64 is a reference: this tile is enough for it.
    {{8, 1}, bits_of(spmm_case::kCsr, spmm_case::kWarps), spmm_case::kAllWeights, 8},
    {{8, 1}, bits_of(spmm_case::kTeams), spmm_case::kAllWeights, 4},
    // 64 bytes: the rest of a row, and short rows of X, eight of which a warp loads at once.
    {{4, 1}, bits_of(spmm_case::kCsr, spmm_case::kWarps, spmm_case::kTeams), spmm_case::kAllWeights, 4},
    // RoDe-TC has no f64 and no weights of heads: a right operand serves all columns of a tile.
    {{8, 1}, bits_of(spmm_case::kTensorCores), spmm_case::kOneHead, 4},
    {{4, 1}, bits_of(spmm_case::kTensorCores), spmm_case::kOneHead, 4},
    // kCsr where consecutive rows have columns in common: 512 bytes, and 256 for the rest of a row.
    {{16, 2}, bits_of(spmm_case::kCsr), spmm_case::kOneHead, 4},
    {{16, 2, true}, bits_of(spmm_case::kCsr), spmm_case::kOneHead, 4},
    // Weights in 16 bits: two sets of 16 lanes share a right operand. Smaller sets scale the left one.
    {{16, 1}, bits_of(spmm_case::kTensorCores), bits_of(spmm_case::kPerEdge), 2},
    // 256 bytes, where no clusters share an L1. Without a ragged end the warp kernel needs fewer registers.
    {{8, 2}, bits_of(spmm_case::kCsr, spmm_case::kWarps), spmm_case::kOneHead, 4},
    {{8, 2, true}, bits_of(spmm_case::kCsr, spmm_case::kWarps, spmm_case::kTeams), spmm_case::kOneHead, 4},
    // Rows at any address, read in place. Teams take any number of tiles of 8 columns, of heads, too.
    {{8, 1, false, true}, bits_of(spmm_case::kTeams), spmm_case::kAllWeights, 4},
    // One tile for all columns: as many loads as there are eights of columns, up to 48.
    {{8, 1, false, true}, bits_of(spmm_case::kWarps), spmm_case::kOneHead, 4},
    {{8, 2, true, true}, bits_of(spmm_case::kWarps, spmm_case::kTeams), spmm_case::kOneHead, 4},
    {{8, 3, true, true}, bits_of(spmm_case::kWarps, spmm_case::kTeams), spmm_case::kOneHead, 4},
    {{8, 4, true, true}, bits_of(spmm_case::kWarps, spmm_case::kTeams), spmm_case::kOneHead, 4},
    {{8, 5, true, true}, bits_of(spmm_case::kWarps, spmm_case::kTeams), spmm_case::kOneHead, 4},
    {{8, 6, true, true}, bits_of(spmm_case::kWarps, spmm_case::kTeams), spmm_case::kOneHead, 4},
};
// clang-format on

constexpr bool is_instantiated(SpmmKernel kernel, const SpmmTile& tile, Weighting weighting,
                               std::size_t element_bytes) {
  for (const SpmmCase& c : kSpmmCases)
    if (c.tile == tile && c.has(kernel, element_bytes) && c.has(weighting)) return true;
  return false;
}

}  // namespace rodeo
