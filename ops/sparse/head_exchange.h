/// Between rows and heads: the ranks of a sharded graph exchange the heads of their nodes, so that each has
/// some heads of all nodes, and back.
#pragma once

#include <cstdint>

#include "core/node_partition.h"
#include "core/variable.h"

namespace rodeo {

/// The heads of a rank: as many as ranks share equally, rounded up. The last ranks may have fewer, or none.
struct HeadRange {
  std::int64_t begin = 0, end = 0;
  std::int64_t count() const { return end - begin; }
};
HeadRange heads_of_rank(std::int64_t heads, int ranks, int rank);

/// x [nodes of the rank, heads, k] -> [all nodes, heads of the rank, k]. Floating dtypes. A collective call.
/// Gradient: rows_of_heads(dy). Deterministic.
Tensor heads_of_rows(const NodePartition& nodes, const Tensor& x);
Variable heads_of_rows(const NodePartition& nodes, const Variable& x);
/// The inverse.   x [all nodes, heads of the rank, k] -> [nodes of the rank, heads, k]
/// Gradient: heads_of_rows(dy).
Tensor rows_of_heads(const NodePartition& nodes, const Tensor& x, std::int64_t heads);
Variable rows_of_heads(const NodePartition& nodes, const Variable& x, std::int64_t heads);

}  // namespace rodeo
