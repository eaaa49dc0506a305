/// A search on all threads.
#pragma once

#include <algorithm>
#include <cstdint>

namespace rodeo {

/// The smallest i in [0, n) for which bad(i), or n. `bad` may be called for any i in [0, n), in any order, by
/// several threads.
template <class Bad>
std::int64_t find_first(std::int64_t n, Bad&& bad) {
  constexpr std::int64_t kStep = 4096;  // checked without branches, so that the loop vectorises
  [[maybe_unused]] constexpr std::int64_t kSerial = 8 * kStep;  // below, one thread is faster
  std::int64_t first = n;
#ifdef _OPENMP  // programs that use the library may be compiled without
#pragma omp parallel for reduction(min : first) if (n > kSerial)
#endif
  for (std::int64_t begin = 0; begin < n; begin += kStep) {
    const std::int64_t end = std::min(begin + kStep, n);
    bool any = false;
    for (std::int64_t i = begin; i < end; ++i) any |= bad(i);
    for (std::int64_t i = begin; any && i < end; ++i)
      if (bad(i)) first = std::min(first, i), any = false;
  }
  return first;
}

}  // namespace rodeo
