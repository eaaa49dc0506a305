/// What the ranks tell each other before a collective sends data.
#pragma once

#include <cstdint>
#include <vector>

#include "core/comm/backend.h"

namespace rodeo::comm {

enum class Collective : std::int64_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kBroadcast,
  kBarrier
};

/// "all_reduce"
const char* name(Collective collective);

/// One rank's call of a collective.
struct Call {
  Collective collective = Collective::kBarrier;
  DType dtype = DType::kU8;
  Reduction reduction = Reduction::kSum;
  int root = 0;
  Shape shape;        // of the input
  Rows send_rows;     // a value for each rank, or empty: all_to_all
  Rows receive_rows;  // all_to_all, and the rows of all_gather and reduce_scatter
  bool cuda = false;  // whether the tensor is on a GPU
};

/// The call as integers. Their number depends on the number of ranks alone.
std::vector<std::int64_t> encode(const Call& call, int num_ranks);
/// Throws Error unless the words of rank `rank` are a call: a program of another version may be there.
Call decode(const std::vector<std::int64_t>& words, int num_ranks, int rank);

/// Throws Error unless the calls of all ranks fit together. `calls` has one for each rank. All ranks throw
/// the same text.
void check_calls(const std::vector<Call>& calls);

}  // namespace rodeo::comm
