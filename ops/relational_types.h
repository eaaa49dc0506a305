/// Options and plans of relational products (ops/relational.h).
#pragma once

#include <iosfwd>

#include "core/enum_names.h"
#include "ops/spmm_types.h"

namespace rodeo {

/// Which of transform and aggregation runs first.
enum class RelationalOrder { kAuto, kTransformFirst, kAggregateFirst };
template <>
inline constexpr auto kEnumNames<RelationalOrder> =
    enum_names<RelationalOrder>({{RelationalOrder::kAuto, "auto"},
                                 {RelationalOrder::kTransformFirst, "transform-first"},
                                 {RelationalOrder::kAggregateFirst, "aggregate-first"}},
                                "order of a relational product");

struct RelationalOptions {
  Reduce reduce = Reduce::kMean;  // over the edges of one relation: kSum or kMean
  RelationalOrder order = RelationalOrder::kAuto;
  SpmmOptions spmm = {};  // but for reduce
};

/// Costs of forward and backward in bytes of memory traffic; a product of matrices counts as the bytes that
/// are moved in its time.
struct RelationalPlan {
  RelationalOrder order = RelationalOrder::kAuto;
  double transform_first = 0, aggregate_first = 0;
};
/// "aggregate-first (transform-first 3.4 GB, aggregate-first 1.2 GB)"
std::ostream& operator<<(std::ostream& out, const RelationalPlan& plan);

}  // namespace rodeo
