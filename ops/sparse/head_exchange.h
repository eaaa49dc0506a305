/// Exchange between node rows and attention heads: from a rank that has all heads of its nodes to a rank that
/// has some heads of all nodes, and back.
#pragma once

#include <cstdint>

#include "core/node_partition.h"
#include "core/variable.h"

namespace rodeo {

/// The heads of a rank: an equal number each, rounded up. The last ranks may have fewer, or none.
struct HeadRange {
  std::int64_t begin = 0, end = 0;
  std::int64_t count() const { return end - begin; }
};
HeadRange heads_of_rank(std::int64_t heads, int ranks, int rank);

/// x [nodes of the rank, heads, k] -> [all nodes, heads of the rank, k], by an all-to-all. Floating dtypes. A
/// collective call. Gradient: rows_of_heads(dy). Deterministic.
Variable heads_of_rows(const NodePartition& nodes, const Variable& x);
/// The inverse.   x [all nodes, heads of the rank, k] -> [nodes of the rank, heads, k]
/// Gradient: heads_of_rows(dy).
Variable rows_of_heads(const NodePartition& nodes, const Variable& x, std::int64_t heads);

}  // namespace rodeo
