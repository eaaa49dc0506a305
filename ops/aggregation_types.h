/// Forms of ops/aggregation.h, which contracts and plans share.
#pragma once

#include <string_view>

#include "core/enum_names.h"

namespace rodeo {

/// How the ranks of a sharded graph compute a product that reads rows of other ranks.
enum class Aggregation {
  kAuto,     // a form for each product: predicted, and timed where the predictions are close
  kRows,     // each rank receives the rows of all others, and multiplies its rows of the graph
  kOverlap,  // as kRows, and computes what is there meanwhile: of sums over symmetric graphs the own columns,
             // of other sums and of fused attention a part of the columns or heads. The rest as kRows
  kColumns,  // each rank receives some columns, or heads of GAT, of all rows, computes them for the whole
             // graph, which it holds, and returns the rows. Sums and means without edge weights or with
             // constant ones, attention
  kHalo,     // each rank receives the rows of others that its edges read
};
template <>
inline constexpr auto kEnumNames<Aggregation> = enum_names<Aggregation>({{Aggregation::kAuto, "auto"},
                                                                         {Aggregation::kRows, "rows"},
                                                                         {Aggregation::kOverlap, "overlap"},
                                                                         {Aggregation::kColumns, "columns"},
                                                                         {Aggregation::kHalo, "halo"}},
                                                                        "aggregation");
/// One of these names. Throws Error for any other text and lists the choices.
inline Aggregation parse_aggregation(std::string_view text) {
  return parse_name<Aggregation>("", text);
}

}  // namespace rodeo
