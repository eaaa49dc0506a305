#include "datasets/degrees.h"

#include "ops/segment_sum.h"

namespace rodeo {
namespace {

Tensor differences(const Tensor& row_ptr) {
  const Tensor host = row_ptr.to(kCpu);
  const auto* ptr = host.data<std::int64_t>();
  const Tensor degree = Tensor::empty({host.numel() - 1}, DType::kI64);
  auto* out = degree.data<std::int64_t>();
  for (std::int64_t i = 0; i < degree.numel(); ++i) out[i] = ptr[i + 1] - ptr[i];
  return degree;
}

}  // namespace

Tensor in_degrees(const Dataset& dataset) {
  if (dataset.indptr.defined()) return differences(dataset.indptr);
  const Tensor& dst = dataset.dst;
  if (!is_sorted(dst)) return differences(to_graph(dataset, dst.device()).adj.csr().row_ptr);
  const Tensor ones = Tensor::full({dst.numel()}, 1, DType::kF64, dst.device());  // exact up to 2^53
  return segment_sum(dst, ones, dataset.num_nodes).to(kCpu).to(DType::kI64);
}

}  // namespace rodeo
