#include "ops/plan/relational_plan.h"

#include <algorithm>
#include <ostream>

namespace rodeo {
namespace {

constexpr double kFlopsPerByte = 15;  // f32 products of an H100 by its memory bandwidth

/// A grouped product, its two gradients, and the arrays they read and write.
double product_cost(const RelationalSizes& s, std::int64_t rows_in, std::int64_t rows_out) {
  const auto in = static_cast<double>(s.in), out = static_cast<double>(s.out),
             from = static_cast<double>(rows_in), to = static_cast<double>(rows_out);
  const double flops = 2 * std::max(from, to) * in * out / static_cast<double>(s.blocks);
  const double arrays = (from * in + to * out) * static_cast<double>(s.element_bytes);
  return (s.x_learns ? 3 : 2) * (flops / kFlopsPerByte + arrays);
}

/// One sparse product with rows of `width`, and the weights of its edges.
double sum_cost(const RelationalSizes& s, std::int64_t width) {
  return static_cast<double>(s.edges * (width + (s.mean ? 1 : 0)) * s.element_bytes);
}

}  // namespace

RelationalPlan plan_relational(const RelationalSizes& s, RelationalOrder wanted) {
  RelationalPlan plan;
  plan.transform_first = 2 * sum_cost(s, s.out) + product_cost(s, s.stack, s.stack);
  plan.aggregate_first = (s.x_learns ? 2 : 1) * sum_cost(s, s.in) + product_cost(s, s.targets, s.rows);
  plan.order = wanted != RelationalOrder::kAuto              ? wanted
               : plan.transform_first < plan.aggregate_first ? RelationalOrder::kTransformFirst
                                                             : RelationalOrder::kAggregateFirst;
  return plan;
}

std::ostream& operator<<(std::ostream& out, const RelationalPlan& plan) {
  constexpr double kGiga = 1e9;
  return out << plan.order << " (transform-first " << plan.transform_first / kGiga << " GB, aggregate-first "
             << plan.aggregate_first / kGiga << " GB)";
}

}  // namespace rodeo
