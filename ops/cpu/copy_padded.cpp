// Copies of arrays into larger ones (ops/copy_padded.h).
#include <algorithm>

#include "ops/kernels/graph.h"

namespace rodeo::kernels::cpu {
namespace {

template <class T>
void run(const PaddedCopy& copy) {
  const std::int64_t used = copy.from.numel(), all = copy.to.numel();
  T* to = copy.to.data<T>();
  std::copy_n(copy.from.data<T>(), used, to);
  if (copy.filler.defined())
    std::copy_n(copy.filler.data<T>() + used, all - used, to + used);
  else
    std::fill_n(to + used, all - used, static_cast<T>(copy.value));
}

}  // namespace

void copy_padded(const std::vector<PaddedCopy>& copies) {
  for (const PaddedCopy& copy : copies)
    copy.to.dtype() == DType::kI32 ? run<std::int32_t>(copy) : run<std::int64_t>(copy);
}

}  // namespace rodeo::kernels::cpu
