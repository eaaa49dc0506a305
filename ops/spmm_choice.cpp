#include "ops/spmm_choice.h"

#include <ostream>

namespace rodeo {

std::ostream& operator<<(std::ostream& out, const SpmmProblem& problem) {
  return out << "n=" << problem.n << ' ' << problem.dtype << (problem.weighted ? " weighted" : " unweighted")
             << (problem.allow_nondeterministic ? " in any order" : "");
}

}  // namespace rodeo
