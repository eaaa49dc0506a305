/// From operands to template cases of the passes in attention_passes.cuh.
#pragma once

#include "ops/cuda/attention/attention_passes.cuh"

namespace rodeo::kernels::cuda {

/// [rows, heads, 2]: lse, and <dy, y> of each head. In the dtype of lse.
Tensor attention_terms(const Tensor& y, const Tensor& dy, const Tensor& lse);

/// Calls f.operator()<Tile, kEdges>() with the tile of heads of `lanes` lanes. Operands by edge, and f64,
/// have one case.
template <class T, class F>
void with_head_tile(int lanes, bool edges, F&& f) {
  if constexpr (sizeof(T) < 8) {
    if (!edges) {
      if (lanes < 8) return f.template operator()<HeadTile<T, 8, true>, false>();
      if (lanes == 8) return f.template operator()<HeadTile<T, 8, false>, false>();
      if (lanes == 16) return f.template operator()<HeadTile<T, 16, false>, false>();
      return f.template operator()<HeadTile<T, 32, false>, false>();
    }
  }
  f.template operator()<HeadTile<T, 32, true>, true>();
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
