#include "train/criterion.h"

#include <numeric>

#include "ops/combine.h"
#include "ops/spmm.h"

namespace rodeo {

Variable ExampleRows::operator()(const Variable& predictions, const Examples& examples) const {
  if (examples.ids.defined()) {
    const std::int64_t count = examples.ids.numel();
    return predictions.dim(0) > count ? rows(predictions, 0, count) : predictions;
  }
  if (!selection_.defined()) {
    const std::int64_t count = training_.numel();
    std::vector<std::int64_t> row_ptr(static_cast<std::size_t>(count) + 1);
    std::iota(row_ptr.begin(), row_ptr.end(), 0);
    selection_ = Adjacency::trusted(
        {count, predictions.dim(0), Tensor::from(row_ptr, training_.device()), training_.to(DType::kI32)});
  }
  return spmm(selection_, predictions, {.algorithm = SpmmAlgorithm::kRode});
}

Variable no_loss(const Variable& x) {
  const DType loss = x.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
  const auto rule = [shape = x.shape(), dtype = x.dtype(), device = x.device()](const Tensor&) {
    return std::vector{Tensor::zeros(shape, dtype, device)};
  };
  return record("no_loss", Tensor::zeros({}, loss, x.device()), {x}, rule);
}

Tensor RowNumbers::operator()(std::int64_t count) const {
  if (made_.empty() || made_.back().numel() < count) {
    std::vector<std::int64_t> row(static_cast<std::size_t>(count));
    std::iota(row.begin(), row.end(), 0);
    made_.push_back(Tensor::from(row, device_));
  }
  return made_.back().slice(0, count);
}

}  // namespace rodeo
