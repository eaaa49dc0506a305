/// Which rows the ranks of a sharded graph exchange: those that the other ranks' edges read.
#pragma once

#include <cstdint>
#include <vector>

#include "core/adjacency.h"
#include "core/node_partition.h"
#include "core/variable.h"

namespace rodeo {

struct HaloRows {
  Tensor sent;      // i64: rows that other ranks read, counted from the rank's first one, by receiver
  Tensor received;  // i64: nodes of other ranks that the rank's edges read, ascending, and so by owner
  std::vector<std::int64_t> send_rows, receive_rows;  // a value for each rank
  Adjacency senders;  // [nodes of the rank, sent.numel()]: at which places of `sent` a row is
};

/// Reads the columns of the rank's edges on the host. A collective call.
HaloRows find_halo(const ShardedRows& share);

/// x [nodes of the rank, ...] -> [all nodes, ...]: the rank's rows and those of its halo; other rows are not
/// initialised. Floating dtypes. A collective call.
/// Gradient: dx is the rank's rows of dy, plus what other ranks' halos have for them, in the order of ranks.
/// dy must be defined in the rows of rank and halo only. Deterministic.
Tensor exchange_halo(const NodePartition& nodes, const HaloRows& halo, const Tensor& x);
Tensor exchange_halo_backward(const NodePartition& nodes, const HaloRows& halo, const Tensor& dy);

}  // namespace rodeo
