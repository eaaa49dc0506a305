/// Which of transform and aggregation of a relational product runs first.
#pragma once

#include <cstdint>

#include "ops/relational_types.h"

namespace rodeo {

struct RelationalSizes {
  std::int64_t edges = 0;
  std::int64_t stack = 0;    // rows of the stack: sources of all relations
  std::int64_t targets = 0;  // (target, relation) rows
  std::int64_t rows = 0;     // destinations
  std::int64_t in = 0, out = 0;
  std::int64_t blocks = 1;  // on the diagonal of each weight
  std::int64_t element_bytes = 4;
  bool x_learns = true;  // backward computes dx
  bool mean = true;      // products read edge weights
};

/// `wanted`: the order that the caller asks for; kAuto: the cheaper one.
RelationalPlan plan_relational(const RelationalSizes& sizes, RelationalOrder wanted);

}  // namespace rodeo
