#include "ops/sddmm_choice.h"

#include <ostream>

namespace rodeo {

std::ostream& operator<<(std::ostream& out, const SddmmProblem& problem) {
  if (problem.heads != 1) out << problem.heads << " heads ";
  return out << "k=" << problem.k << ' ' << problem.dtype << (problem.weighted ? " weighted" : " unweighted");
}

}  // namespace rodeo
