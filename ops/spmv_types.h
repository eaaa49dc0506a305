/// Options of spmv (ops/spmv.h), which contracts and plans share.
#pragma once

#include <string>
#include <string_view>

#include "core/enum_names.h"

namespace rodeo {

enum class SpmvAlgorithm {
  kAuto,    // chosen from the row lengths (ops/plan/spmv_plan.h): kVector, kStream or kRode
  kVector,  // CSR-vector: a group of threads per row (Bell & Garland, SC 2009); for small graphs of even row
            // lengths
  kRode,    // rows split into block and residual parts (RoDe, see spmm.h); any skew. Caches RoDe's plan
  kStream,  // tiles of equal work, summed in shared memory: CSR-stream (Greathouse & Daga, SC 2014) on the
            // tiles of merge-path SpMV (Merrill & Garland, SC 2016); for many edges, any skew. Caches the
            // tiles, 16 bytes for 1776 rows and edges. On the CPU the loop of kVector
  kSegmented,  // segmented reduction over the row of every edge (see segment_sum.h); any skew. Caches 4 bytes
               // an edge on the graph; at most 2^31 - 1 rows
};
template <>
inline constexpr auto kEnumNames<SpmvAlgorithm> =
    enum_names<SpmvAlgorithm>({{SpmvAlgorithm::kAuto, "auto"},
                               {SpmvAlgorithm::kVector, "vector"},
                               {SpmvAlgorithm::kRode, "rode"},
                               {SpmvAlgorithm::kStream, "stream"},
                               {SpmvAlgorithm::kSegmented, "segmented"}},
                              "spmv algorithm");
/// One of these names. Throws Error for any other text and lists the choices.
inline SpmvAlgorithm parse_spmv_algorithm(std::string_view text) {
  return parse_name<SpmvAlgorithm>("", text);
}

struct SpmvOptions {
  SpmvAlgorithm algorithm = SpmvAlgorithm::kAuto;
  /// kVector: threads that sum one row on a CUDA device (THREADS_PER_VECTOR of the paper): 2, 4, 8, 16 or
  /// 32. 0: the power of two in [2, 16] nearest to the mean row length. The paper's rule goes up to 32, which
  /// is too many for threads that have four nonzeros in flight. The CPU takes one thread a row in any case.
  int threads_per_vector = 0;

  bool operator==(const SpmvOptions&) const = default;
};
/// "rode", "vector", or with threads_per_vector "vector-8".
std::string name(const SpmvOptions& options);
std::ostream& operator<<(std::ostream& out, const SpmvOptions& options);
/// The inverse of name(). Throws Error for any other text and lists the choices.
SpmvOptions parse_spmv_options(std::string_view text);
/// Throws Error where threads_per_vector is none of its values, or set with another algorithm than kVector.
void check_spmv_options(const SpmvOptions& options);

}  // namespace rodeo
