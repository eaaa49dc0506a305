// Ids that are numbered range by range (ops/id_ranges.h).
#include "ops/cpu/loops.h"
#include "ops/kernels/graph.h"

namespace rodeo::kernels::cpu {
namespace {

template <class F>
void dispatch_integer(DType dtype, F&& f) {
  if (dtype == DType::kI32) return f(std::int32_t{});
  f(std::int64_t{});
}

}  // namespace

void range_of(const Tensor& ids, const Tensor& begin, const Tensor& range) {
  const auto *id = ids.data<std::int64_t>(), *first = begin.data<std::int64_t>(),
             *last = first + begin.numel() - 1;
  auto* out = range.data<std::int32_t>();
  for_each_element(ids.numel(), [=](std::int64_t i) {
    out[i] = static_cast<std::int32_t>(std::upper_bound(first, last, id[i]) - first - 1);
  });
}

void inverse_permutation(const Tensor& order, const Tensor& inverse) {
  const auto* at = order.data<std::int64_t>();
  auto* out = inverse.data<std::int32_t>();
  for_each_element(order.numel(), [=](std::int64_t i) { out[at[i]] = static_cast<std::int32_t>(i); });
}

void number_ids(const Tensor& ids, std::int64_t begin, std::int64_t step, const Tensor& out) {
  dispatch_integer(out.dtype(), [&]<class To>(To) {
    auto* to = out.data<To>();
    if (!ids.defined())
      return for_each_element(out.numel(),
                              [=](std::int64_t i) { to[i] = static_cast<To>(begin + step * i); });
    dispatch_integer(ids.dtype(), [&]<class From>(From) {
      const auto* from = ids.data<From>();
      for_each_element(out.numel(), [=](std::int64_t i) { to[i] = static_cast<To>(begin + step * from[i]); });
    });
  });
}

void row_shares(const Csr& a, const Tensor& share) {
  const auto* row_ptr = a.row_ptr.data<std::int64_t>();
  auto* out = share.data<double>();
  for_each_element(a.rows, [=](std::int64_t i) {
    for (std::int64_t e = row_ptr[i]; e < row_ptr[i + 1]; ++e)
      out[e] = 1 / static_cast<double>(row_ptr[i + 1] - row_ptr[i]);
  });
}

}  // namespace rodeo::kernels::cpu
