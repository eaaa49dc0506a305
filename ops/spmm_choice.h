/// The choice between spmm algorithms by measurement.
#pragma once

#include <compare>
#include <cstdint>
#include <iosfwd>

#include "core/dtype.h"
#include "ops/kernel_choice.h"

namespace rodeo {

/// The kind of product that an algorithm is chosen for, on one graph.
struct SpmmProblem {
  std::int64_t n = 0;  // columns of X
  DType dtype = DType::kF32;
  bool weighted = false;
  bool allow_nondeterministic = false;  // Accumulate::kAtomic: bits may differ from run to run
  auto operator<=>(const SpmmProblem&) const = default;
};
/// "n=16 f32 unweighted"
std::ostream& operator<<(std::ostream& out, const SpmmProblem& problem);

using SpmmCandidate = KernelCandidate<SpmmAlgorithm>;
using SpmmChoice = KernelChoice<SpmmAlgorithm>;
using SpmmTuning = KernelTuning;

}  // namespace rodeo
