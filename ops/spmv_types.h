/// Options of spmv (ops/spmv.h), which contracts and plans share.
#pragma once

#include <iosfwd>
#include <string_view>

namespace rodeo {

enum class SpmvAlgorithm {
  kAuto,       // chosen from the row lengths: kVector, or kRode where one row takes longer than all others
  kVector,     // CSR-vector: a group of threads per row (Bell & Garland, SC 2009); for even row lengths
  kRode,       // rows split into block and residual parts (RoDe, see spmm.h); any skew. Caches RoDe's plan
  kSegmented,  // segmented reduction over the row of every edge (see segment_sum.h); any skew. Caches 4 bytes
               // an edge on the graph; at most 2^31 - 1 rows
};
std::string_view name(SpmvAlgorithm algorithm);
std::ostream& operator<<(std::ostream& out, SpmvAlgorithm algorithm);
/// "auto", "vector", "rode" or "segmented". Throws Error for any other text and lists the choices.
SpmvAlgorithm parse_spmv_algorithm(std::string_view text);

struct SpmvOptions {
  SpmvAlgorithm algorithm = SpmvAlgorithm::kAuto;
};

}  // namespace rodeo
