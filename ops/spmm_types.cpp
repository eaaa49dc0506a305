#include "ops/spmm_types.h"

namespace rodeo {

std::ostream& operator<<(std::ostream& out, const RodeOptions& options) {
  out << "split ";
  if (options.split == 0)
    out << "by size";
  else
    out << options.split;
  return out << ", block " << options.block;
}

}  // namespace rodeo
