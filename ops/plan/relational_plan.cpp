#include "ops/plan/relational_plan.h"

#include <ostream>

namespace rodeo {
namespace {

constexpr double kFlopsPerByte = 15;  // f32 products of an H100 by its memory bandwidth

/// A grouped product of this many rows, its two gradients, and the arrays they read and write.
double product_cost(const RelationalSizes& s, double rows) {
  const auto in = static_cast<double>(s.in), out = static_cast<double>(s.out);
  const double flops = 2 * rows * in * out / static_cast<double>(s.blocks);
  const double arrays = rows * (in + out) * static_cast<double>(s.element_bytes);
  return (s.x_learns ? 3 : 2) * (flops / kFlopsPerByte + arrays);
}

/// One sparse product with rows of `width`.
double sum_cost(const RelationalSizes& s, double width) {
  return static_cast<double>(s.edges) * width * static_cast<double>(s.element_bytes);
}

/// Edge weights, read forward and backward; backward also permutes them, with 8 bytes an edge.
double weight_cost(const RelationalSizes& s) {
  return s.mean ? static_cast<double>(s.edges) * (4 * static_cast<double>(s.element_bytes) + 8) : 0;
}

}  // namespace

RelationalPlan plan_relational(const RelationalSizes& s, RelationalOrder wanted) {
  RelationalPlan plan;
  plan.transform_first = 2 * sum_cost(s, static_cast<double>(s.out)) +
                         product_cost(s, static_cast<double>(s.stack)) + weight_cost(s);
  plan.aggregate_first = (s.x_learns ? 2 : 1) * sum_cost(s, static_cast<double>(s.in)) +
                         product_cost(s, static_cast<double>(s.targets));
  plan.order = wanted != RelationalOrder::kAuto               ? wanted
               : plan.transform_first <= plan.aggregate_first ? RelationalOrder::kTransformFirst
                                                              : RelationalOrder::kAggregateFirst;
  return plan;
}

std::ostream& operator<<(std::ostream& out, const RelationalPlan& plan) {
  constexpr double kGiga = 1e9;
  return out << plan.order << " (transform-first " << plan.transform_first / kGiga << " GB, aggregate-first "
             << plan.aggregate_first / kGiga << " GB)";
}

}  // namespace rodeo
