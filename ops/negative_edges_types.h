/// Options of ops/negative_edges.h.
#pragma once

#include <cstdint>

namespace rodeo {

/// The nodes that pairs are drawn from: consecutive ones, such as those of a type. A negative count: all.
struct PairRange {
  std::int64_t first_src = 0, num_src = -1;
  std::int64_t first_dst = 0, num_dst = -1;
};

}  // namespace rodeo
