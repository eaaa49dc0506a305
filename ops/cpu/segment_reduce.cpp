#include "ops/cpu/loops.h"
#include "ops/kernels/graph.h"

namespace rodeo::kernels::cpu {

void segment_extremum_backward(const Tensor& offsets, const Tensor& arg, const Tensor& dy, const Tensor& dx) {
  dx.fill(0);
  dispatch_float(dy.dtype(), "segment_reduce", [&]<class T>(T) {
    const auto* offset = offsets.data<std::int64_t>();
    const auto* at = arg.data<std::int32_t>();
    const T* from = dy.data<T>();
    T* to = dx.data<T>();
    const std::int64_t segments = offsets.numel() - 1, n = dy.numel() / segments;
    for_each_row(segments, n, [=](std::int64_t s) {
      for (std::int64_t j = 0; j < n; ++j)
        if (at[s * n + j] >= 0) to[(offset[s] + at[s * n + j]) * n + j] = from[s * n + j];
    });
  });
}

}  // namespace rodeo::kernels::cpu
