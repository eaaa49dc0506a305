/// The choice between SDDMM's algorithms by measurement.
#pragma once

#include <compare>
#include <cstdint>
#include <iosfwd>

#include "core/dtype.h"
#include "ops/kernel_choice.h"

namespace rodeo {

/// The kind of dot products that an algorithm is chosen for, on one graph.
struct SddmmProblem {
  std::int64_t heads = 1;
  std::int64_t k = 0;  // columns of a head
  DType dtype = DType::kF32;
  bool weighted = false;
  auto operator<=>(const SddmmProblem&) const = default;
};
/// "k=16 f32 unweighted", "8 heads k=16 f32 unweighted"
std::ostream& operator<<(std::ostream& out, const SddmmProblem& problem);

using SddmmCandidate = KernelCandidate<SddmmAlgorithm>;
using SddmmChoice = KernelChoice<SddmmAlgorithm>;

}  // namespace rodeo
