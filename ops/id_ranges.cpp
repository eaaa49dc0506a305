#include "ops/id_ranges.h"

#include <algorithm>
#include <limits>

#include "core/error.h"
#include "ops/kernels/graph.h"

namespace rodeo {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();

void check_ids(std::string_view op, std::string_view what, const Tensor& ids) {
  check(ids.defined() && ids.rank() == 1 && ids.dtype() == DType::kI64 && ids.numel() <= kMost, "[", op, "] ",
        what, " must be i64 [n], with n of at most ", kMost);
}

bool is_integer(const Tensor& x) {
  return x.rank() == 1 && (x.dtype() == DType::kI32 || x.dtype() == DType::kI64);
}

}  // namespace

RangeGroups group_by_range(const Tensor& ids, const std::vector<std::int64_t>& begin) {
  check_ids("group_by_range", "ids", ids);
  check(begin.size() >= 2 && std::ranges::is_sorted(begin),
        "[group_by_range] begin must have at least two entries, ascending");
  const Device device = ids.device();
  const std::int64_t n = ids.numel();
  const Tensor range = Tensor::empty({n}, DType::kI32, device),
               position = Tensor::empty({n}, DType::kI32, device);
  if (n > 0) {
    kernels::range_of.on(device)(ids, Tensor::from(begin, device), range);
    kernels::number_ids.on(device)({}, 0, 1, position);
  }
  // Positions are columns: a sort by (range, position) is stable.
  const Csr groups = kernels::coo_to_csr.on(device)(range, position, std::ssize(begin) - 1, n, {}).csr;
  return {groups.row_ptr.to_vector<std::int64_t>(), groups.col.to(DType::kI64)};
}

Tensor inverse_permutation(const Tensor& order) {
  check_ids("inverse_permutation", "order", order);
  const Tensor out = Tensor::empty(order.shape(), DType::kI32, order.device());
  if (order.numel() > 0) kernels::inverse_permutation.on(order.device())(order, out);
  return out;
}

void number_ids(const Tensor& ids, std::int64_t begin, std::int64_t step, const Tensor& out) {
  check(out.defined() && is_integer(out), "[number_ids] out must be i32 or i64 [n]");
  check(!ids.defined() || (is_integer(ids) && ids.shape() == out.shape() && ids.device() == out.device()),
        "[number_ids] ids must be i32 or i64 ", out.shape(), " on ", out.device());
  if (out.numel() > 0) kernels::number_ids.on(out.device())(ids, begin, step, out);
}

}  // namespace rodeo
