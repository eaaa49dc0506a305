/// The forms of exchange of ops/aggregation.h, by name.
#pragma once

#include <string_view>

#include "core/enum_names.h"

namespace rodeo {

/// How the ranks of a sharded graph compute a product that reads rows of other ranks.
enum class Aggregation {
  kAuto,     // a form for each product: predicted, and timed where the predictions are close
  kRows,     // each rank receives the rows of all others, and multiplies its rows of the graph
  kColumns,  // each rank receives some columns, or heads of GAT, of all rows, computes them on the whole
             // graph, which it holds, and returns the rows. Sums and means without edge weights or with
             // constant ones, attention
  kHalo,     // each rank receives the rows of others that its edges read
};
template <>
inline constexpr auto kEnumNames<Aggregation> = enum_names<Aggregation>({{Aggregation::kAuto, "auto"},
                                                                         {Aggregation::kRows, "rows"},
                                                                         {Aggregation::kColumns, "columns"},
                                                                         {Aggregation::kHalo, "halo"}},
                                                                        "aggregation");
/// One of these names. Throws Error for any other text and lists the choices.
inline Aggregation parse_aggregation(std::string_view text) {
  return parse_name<Aggregation>("", text);
}

}  // namespace rodeo
