/// From operands to template cases of the passes in attention_passes.cuh.
#pragma once

#include "ops/cuda/attention/attention_passes.cuh"

namespace rodeo::kernels::cuda {

/// [rows, heads, 2]: lse, and <dy, y> of each head. In the dtype of lse.
Tensor attention_terms(const Tensor& y, const Tensor& dy, const Tensor& lse);

/// Calls f.operator()<Tile, kEdges>() with the tile of these heads. Operands by edge, and f64, have one case.
template <class T, class F>
void with_head_tile(HeadLanes head, bool edges, F&& f) {
  constexpr int kLoads = sizeof(T) == 4 ? 2 : 1;  // of most heads
  const auto run = [&]<class Tile>() { f.template operator()<Tile, false>(); };
  if constexpr (sizeof(T) < 8) {
    if (edges) return f.template operator()<HeadTile<T, 32, 0, kLoads>, true>();
    if constexpr (kLoads == 2) {
      if (head.loads == 1) return run.template operator()<HeadTile<T, 8>>();
      if (head.whole && head.lanes == 1) return run.template operator()<HeadTile<T, 8, 1, 2, true>>();
      if (head.whole && head.lanes == 8) return run.template operator()<HeadTile<T, 8, 8, 2, true>>();
      if (head.whole && head.lanes == 16) return run.template operator()<HeadTile<T, 16, 16, 2, true>>();
    } else {
      if (head.lanes == 1) return run.template operator()<HeadTile<T, 8, 1>>();
      if (head.lanes == 4) return run.template operator()<HeadTile<T, 8, 4>>();
    }
    if (head.lanes < 8) return run.template operator()<HeadTile<T, 8, 0, kLoads>>();
    if (head.lanes == 8) return run.template operator()<HeadTile<T, 8, 8, kLoads>>();
    if (head.lanes == 16) return run.template operator()<HeadTile<T, 16, 16, kLoads>>();
    return run.template operator()<HeadTile<T, 32, 32, kLoads>>();
  } else {
    f.template operator()<HeadTile<T, 32, 0>, true>();
  }
}

/// Operands of a pass at addresses that 16-byte loads can read; copies where they are not.
template <class T>
class PaddedOperands {
 public:
  HeadRows<device_t<T>> rows(const Tensor& x) {
    if (!x.defined()) return {};
    kept_.emplace_back(x, x.dim(1), x.dim(2));
    return {kept_.back(), x.dim(1), x.dim(2)};
  }

 private:
  std::vector<PaddedRows> kept_;
};

}  // namespace rodeo::kernels::cuda
