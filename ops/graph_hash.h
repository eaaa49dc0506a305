/// A hash of a graph, the key under which its tuning results are stored.
#pragma once

#include <cstdint>

#include "core/adjacency.h"

namespace rodeo {

/// A 64-bit hash of the sizes, row pointers and columns of a graph. Equal graphs have equal hashes on every
/// device. Not cryptographic. Cached on adj.
std::uint64_t graph_hash(const Adjacency& adj);

/// The hash of `value` at `index`. The hash of an array is the sum over its elements modulo 2^64, which does
/// not depend on the order of threads.
constexpr std::uint64_t mix(std::uint64_t index, std::uint64_t value) {
  // The multipliers are odd, so that neither argument loses a bit; the rounds are those of SplitMix64.
  std::uint64_t z = (index + 1) * 0x9E3779B97F4A7C15ull + value * 0xD6E8FEB86659FD93ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

}  // namespace rodeo
