/// Ids that are numbered range by range, as nodes by their type and edges by their relation. Not recorded for
/// backward. Deterministic: the same result on every device. They throw rodeo::Error when shapes, dtypes or
/// devices disagree; ids out of range are not checked.
#pragma once

#include <cstdint>
#include <vector>

#include "core/tensor.h"

namespace rodeo {

struct RangeGroups {
  std::vector<std::int64_t> begin;  // of each range in `order`, and n behind them: on the host
  Tensor order;                     // i64 [n]: positions of ids, range by range, in each as they are given
};

/// Sorts ids by the range that holds them. Waits for the device.
///   ids    i64 [n], in [begin.front(), begin.back())
///   begin  of each range, ascending, and the end of the last one
RangeGroups group_by_range(const Tensor& ids, const std::vector<std::int64_t>& begin);

/// out[order[i]] = i.   order: i64 [n], a permutation  ->  i32 [n], n < 2^31
Tensor inverse_permutation(const Tensor& order);

/// out[i] = begin + step ids[i], or begin + step i where ids is undefined.
///   ids, out  i32 or i64 [n] each, on one device; they may be the same memory
void number_ids(const Tensor& ids, std::int64_t begin, std::int64_t step, const Tensor& out);

}  // namespace rodeo
