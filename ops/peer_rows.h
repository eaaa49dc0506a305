/// A matrix, or a vector, of which each rank holds a range of the rows: features, or the columns of edges.
#pragma once

#include <memory>
#include <vector>

#include "core/node_partition.h"
#include "ops/row_cache_types.h"

namespace rodeo {

/// Equal ranges of rows, one for each rank of `ranks`. No shapes, no dtypes. Exchanges nothing.
/// Deterministic. Throws Error for rows < 0.
std::shared_ptr<const NodePartition> equal_parts(std::int64_t rows, const Communicator& ranks);

/// Rows that the ranks hold, each a range of them. Functions that read rows are collective calls: every rank
/// makes the same ones, each with rows of its own. A matrix is f64, f32, bf16 or f16, a vector of any dtype
/// that take() has.
class PeerRows {
 public:
  /// own [nodes.num_rows(), n] or [nodes.num_rows()]: the rows of this rank. Throws Error for another number
  /// of rows.
  PeerRows(Tensor own, std::shared_ptr<const NodePartition> nodes);

  const NodePartition& nodes() const { return *nodes_; }
  Shape shape() const { return with_rows(nodes_->num_nodes()); }
  const Tensor& own() const { return own_; }

  /// Rows `index`, i64 [k] on the device, k >= 0: [k, n] or [k]. The ranks send each other the numbers of
  /// rows, and then the rows. The host waits for the device once. Deterministic: the bits of gather_rows() of
  /// the whole matrix.
  Tensor read(const Tensor& index) const;
  /// Reads pieces of about 64 MiB into `rows`, [k, n]. `index` has the same length on all ranks.
  void read_in_pieces(const Tensor& index, const Tensor& rows) const;

  /// From now on rows of `cache` are not exchanged. `cache` is one of this matrix; each rank has its own.
  void set_cache(RowCache cache);

 private:
  Shape with_rows(std::int64_t rows) const;

  std::shared_ptr<const NodePartition> nodes_;
  Tensor own_;
  RowCache cache_;
  Tensor place_;                     // i32 [nodes]: a row itself, or nodes + its row of the cache
  std::vector<std::int64_t> begin_;  // of the places of each rank, and of the cache if there is one
};

}  // namespace rodeo
