/// Options of sddmm (ops/sddmm.h), which contracts and kernel signatures share.
#pragma once

#include <string_view>

#include "core/enum_names.h"

namespace rodeo {

enum class SddmmOp {
  kDot,  // inner product over the last dimension
  kAdd,  // elementwise sum
  kMul,  // elementwise product
};
template <>
inline constexpr auto kEnumNames<SddmmOp> =
    enum_names<SddmmOp>({{SddmmOp::kDot, "dot"}, {SddmmOp::kAdd, "add"}, {SddmmOp::kMul, "mul"}});

/// Which edges a warp of a CUDA device takes for dot products. The CPU has one loop for both.
enum class SddmmAlgorithm {
  kAuto,   // the faster one on this graph, timed once (ops/sddmm_tuner.h)
  kRows,   // RoDe's decomposition (Pang et al., PPoPP 2024): a piece or a short row, whose row of b1 stays in
           // registers. Caches RoDe's plan
  kEdges,  // consecutive edges of any rows; the row of b1 is read for each edge. Caches 4 bytes an edge
};
template <>
inline constexpr auto kEnumNames<SddmmAlgorithm> = enum_names<SddmmAlgorithm>(
    {{SddmmAlgorithm::kAuto, "auto"}, {SddmmAlgorithm::kRows, "rows"}, {SddmmAlgorithm::kEdges, "edges"}},
    "sddmm algorithm");
/// One of these names. Throws Error for any other text and lists the choices.
inline SddmmAlgorithm parse_sddmm_algorithm(std::string_view text) {
  return parse_name<SddmmAlgorithm>("", text);
}

struct SddmmOptions {
  SddmmAlgorithm algorithm = SddmmAlgorithm::kAuto;
};

}  // namespace rodeo
