#include "ops/copy_padded.h"

#include "core/error.h"
#include "ops/kernels/graph.h"

namespace rodeo {
namespace {

void check_copy(const PaddedCopy& copy, Device device) {
  const auto is = [&](const Tensor& x) {
    return x.defined() && x.rank() == 1 && x.dtype() == copy.to.dtype() && x.device() == device;
  };
  check(copy.to.defined() && (copy.to.dtype() == DType::kI32 || copy.to.dtype() == DType::kI64) &&
            is(copy.to) && is(copy.from) && copy.from.numel() <= copy.to.numel(),
        "[copy_padded] arrays must be i32 or i64 vectors of one dtype on one device, none longer than its "
        "destination");
  check(!copy.filler.defined() || (is(copy.filler) && copy.filler.numel() == copy.to.numel()),
        "[copy_padded] a filler must be like its destination, ", copy.to.shape());
}

}  // namespace

void copy_padded(const std::vector<PaddedCopy>& copies) {
  std::vector<PaddedCopy> some;
  for (const PaddedCopy& copy : copies) {
    check(copies.front().to.defined(), "[copy_padded] a destination is undefined");
    check_copy(copy, copies.front().to.device());
    if (copy.to.numel() > 0) some.push_back(copy);
  }
  if (!some.empty()) kernels::copy_padded.on(some.front().to.device())(some);
}

}  // namespace rodeo
