#include "ops/sddmm_types.h"

#include <ostream>

namespace rodeo {

std::string_view name(SddmmOp op) {
  return op == SddmmOp::kDot ? "dot" : op == SddmmOp::kAdd ? "add" : "mul";
}

std::ostream& operator<<(std::ostream& out, SddmmOp op) {
  return out << name(op);
}

}  // namespace rodeo
