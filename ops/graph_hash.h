/// A fingerprint of a graph, by which what was learnt of it is found again.
#pragma once

#include <cstdint>

#include "core/adjacency.h"

namespace rodeo {

/// 64 bits of the sizes, row pointers and columns of a graph: equal graphs have equal ones, on every device.
/// Not for adversaries. Kept on adj.
std::uint64_t graph_hash(const Adjacency& adj);

/// The hash of `value` at `index`: the bits of both, spread over the word. The hash of an array is the sum
/// over its elements, modulo 2^64, which any order of threads gives alike.
constexpr std::uint64_t mix(std::uint64_t index, std::uint64_t value) {
  // The multipliers are odd, so that neither argument loses a bit; the rounds are those of SplitMix64.
  std::uint64_t z = (index + 1) * 0x9E3779B97F4A7C15ull + value * 0xD6E8FEB86659FD93ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

}  // namespace rodeo
