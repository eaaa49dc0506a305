/// Verification of all elements of a result against float64.
#pragma once

#include <string_view>

#include "bench/compare.h"

namespace rodeo::bench {

enum class Verdict {
  kRight,    // within the tolerance of the dtype; eight times as much for a peer
  kInexact,  // a peer's result that is further off, but by less than 5 % of the norm
  kWrong,
};
/// "", "inexact" or "WRONG".
std::string_view mark(Verdict verdict);

struct Verification {
  Verdict verdict;
  Distance off;
  std::string text;  // one line that names the kernel and what is off; empty for kRight
};

/// Runs a kernel once into memory filled with NaN and compares every element of the result. Throws
/// Unsupported if the kernel does.
Verification verify(const Kernel& kernel, const Problem& problem, const Run& run);

}  // namespace rodeo::bench
