#include "ops/graph_hash.h"

#include "ops/cpu/loops.h"
#include "ops/kernels/graph.h"

namespace rodeo::kernels::cpu {
namespace {

template <class I>
std::uint64_t sum_of_hashes(const Tensor& values) {
  const I* v = values.data<I>();
  const std::int64_t n = values.numel();
  std::uint64_t sum = 0;
#pragma omp parallel for reduction(+ : sum) if (n > kSerial)
  for (std::int64_t i = 0; i < n; ++i)
    sum += mix(static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(v[i]));
  return sum;
}

}  // namespace

std::uint64_t hash_values(const Tensor& values) {
  return values.dtype() == DType::kI64 ? sum_of_hashes<std::int64_t>(values)
                                       : sum_of_hashes<std::int32_t>(values);
}

}  // namespace rodeo::kernels::cpu
