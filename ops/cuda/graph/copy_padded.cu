// Copies of arrays into larger ones (ops/copy_padded.h): a row of blocks for each.
#include <algorithm>

#include "core/cuda/launch.cuh"
#include "ops/kernels/graph.h"

namespace rodeo::kernels::cuda {
namespace {

using namespace rodeo::cuda;

constexpr int kThreads = 256;
constexpr std::size_t kAtOnce = 32;  // they are kernel parameters
constexpr std::int64_t kMostBlocks = 256;

struct Copies {
  struct One {
    const void *from, *filler;
    void* to;
    std::int64_t used, all, value;
    bool wide;
  } copies[kAtOnce];
};

template <class T>
__device__ void run(const Copies::One& copy) {
  const auto *from = static_cast<const T*>(copy.from), *filler = static_cast<const T*>(copy.filler);
  auto* to = static_cast<T*>(copy.to);
  RODEO_GRID_STRIDE(i, copy.all)
  to[i] = i < copy.used ? from[i] : filler ? filler[i] : static_cast<T>(copy.value);
}

// Grid (blocks of the longest array, copies), block kThreads.
__global__ void copy_padded_kernel(Copies all) {
  const Copies::One& copy = all.copies[blockIdx.y];
  if (copy.wide)
    run<std::int64_t>(copy);
  else
    run<std::int32_t>(copy);
}

}  // namespace

void copy_padded(const std::vector<PaddedCopy>& copies) {
  for (std::size_t begin = 0; begin < copies.size(); begin += kAtOnce) {
    const std::size_t count = std::min(kAtOnce, copies.size() - begin);
    Copies some{};
    std::int64_t longest = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const PaddedCopy& c = copies[begin + i];
      some.copies[i] = {c.from.raw(),
                        c.filler.defined() ? c.filler.raw() : nullptr,
                        c.to.raw(),
                        c.from.numel(),
                        c.to.numel(),
                        c.value,
                        c.to.dtype() == DType::kI64};
      longest = std::max(longest, c.to.numel());
    }
    const dim3 grid(static_cast<unsigned>(std::min(kMostBlocks, ceil_div(longest, kThreads))),
                    static_cast<unsigned>(count));
    launch("copy_padded", copies.front().to.device(), copy_padded_kernel, grid, kThreads, 0, some);
  }
}

}  // namespace rodeo::kernels::cuda
