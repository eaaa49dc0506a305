/// Random changes, the same for the same seed and number.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/random.h"

namespace rodeo::fuzz {

class Draws {
 public:
  Draws(std::uint64_t seed, std::uint64_t number) : seed_(seed), number_(number) {}
  /// In [0, n); 0 for n = 0.
  std::uint64_t below(std::uint64_t n) { return n == 0 ? 0 : random_word(seed_, number_, count_++) % n; }
  bool once_in(std::uint64_t n) { return below(n) == 0; }
  template <class T>
  const T& of(const std::vector<T>& values) {
    return values[below(values.size())];
  }

 private:
  std::uint64_t seed_, number_, count_ = 0;
};

/// A few changes of bytes: bits, runs, copies, boundary values, small increments, truncation, swaps.
std::string mutate_bytes(std::string bytes, Draws& draws);

/// A few changes of lines and numbers: lines are removed, doubled, swapped and cut; numbers become huge,
/// negative, NaN or text. Sometimes also bytes.
std::string mutate_text(const std::string& text, Draws& draws);

}  // namespace rodeo::fuzz
