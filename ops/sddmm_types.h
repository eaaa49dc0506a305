/// Options of sddmm (ops/sddmm.h), which contracts and kernel signatures share.
#pragma once

#include <iosfwd>
#include <string_view>

namespace rodeo {

enum class SddmmOp {
  kDot,  // inner product over the last dimension
  kAdd,  // elementwise sum
  kMul,  // elementwise product
};
std::string_view name(SddmmOp op);
std::ostream& operator<<(std::ostream& out, SddmmOp op);

/// Which edges a warp of a CUDA device takes for dot products. The CPU has one loop for both.
enum class SddmmAlgorithm {
  kAuto,   // the faster one on this graph, timed once (ops/sddmm_tuner.h)
  kRows,   // RoDe's decomposition (Pang et al., PPoPP 2024): a piece or a short row, whose row of b1 stays in
           // registers. Caches RoDe's plan
  kEdges,  // consecutive edges of any rows; the row of b1 is read for each edge. Caches 4 bytes an edge
};
std::string_view name(SddmmAlgorithm algorithm);
std::ostream& operator<<(std::ostream& out, SddmmAlgorithm algorithm);
/// "auto", "rows" or "edges". Throws Error for any other text and lists the choices.
SddmmAlgorithm parse_sddmm_algorithm(std::string_view text);

struct SddmmOptions {
  SddmmAlgorithm algorithm = SddmmAlgorithm::kAuto;
};

}  // namespace rodeo
