#include "ops/plan/rode_plan.h"

#include <ostream>

namespace rodeo {

std::ostream& operator<<(std::ostream& out, const RodePlan& plan) {
  return out << plan.num_pieces() << " pieces, " << plan.num_split_rows() << " split rows, "
             << plan.num_residual() << " residual rows";
}

}  // namespace rodeo
