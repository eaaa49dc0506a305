/// Column tiles of X, the arguments of SpMM's kernels, and the dispatch from a configuration to a template
/// case.
#pragma once

#include <limits>
#include <type_traits>
#include <utility>

#include "ops/cuda/device/loads.cuh"
#include "ops/cuda/device/pack.cuh"
#include "ops/cuda/device/padded_rows.cuh"
#include "ops/kernels/sparse.h"
#include "ops/plan/spmm_cases.h"

namespace rodeo::kernels::cuda {

using namespace rodeo::cuda;

/// SpmmTile as a type (ops/plan/spmm_config.h). The 32 / kLanes groups of lanes of a warp work on different
/// nonzeros or rows. kVec is the number of elements of one load: 16 bytes of them, or 1.
template <class T_, int kLanes_, Weighting kWeighting_, int kLoads_ = 1, bool kRagged_ = false,
          int kVec_ = 16 / sizeof(T_)>
struct Tile {
  using T = T_;
  using Sum = Accumulator<T>;
  static constexpr int kVec = kVec_, kLanes = kLanes_, kGroups = kWarp / kLanes_;
  static_assert(kVec == 16 / sizeof(T) || kVec == 1);
  using Element = std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                     std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>;
  using Load = std::conditional_t<kVec == 1, Element, uint4>;
  static constexpr int kLoads = kLoads_;
  static constexpr int kLoadStride = kVec * kLanes;  // columns from a load of a lane to its next
  static constexpr int kWidth = kLoadStride * kLoads, kSums = kVec * kLoads;
  static constexpr Weighting kWeighting = kWeighting_;
  static constexpr bool kRagged = kRagged_;
};

/// X is [cols, heads, pitch], Y is [rows, heads, k]. pitch is a multiple of 16 bytes; for tiles of kVec 1 it
/// is k.
template <class T>
struct SpmmArgs {
  const std::int64_t* row_ptr;
  const std::int32_t* col;
  const T* weight;  // [edges, heads], or null for an unweighted sum
  const T* x;
  T* y;
  std::int64_t rows, heads, k, pitch;
  std::int64_t stride;      // heads * pitch
  std::uint32_t row_bytes;  // stride in bytes
  std::int64_t first;       // column where this launch begins
  bool whole_vectors;       // Y can be written 16 bytes at a time
};

inline Weighting weighting_of(const Tensor& weight) {
  if (!weight.defined()) return Weighting::kNone;
  return heads_of(weight) > 1 ? Weighting::kPerHead : Weighting::kPerEdge;  // [edges, 1] is [edges]
}

inline SpmmSizes spmm_sizes(const Csr& a, const Tensor& weight, const Tensor& x, const Tensor& y) {
  const std::int64_t heads = heads_of(weight);
  return {.rows = a.rows,
          .cols = a.cols,
          .edges = a.col.numel(),
          .heads = heads,
          .k = y.numel() / (a.rows * heads),
          .element_bytes = size_of(x.dtype()),
          .weighting = weighting_of(weight),
          .x_is_aligned = is_aligned(x),
          .graph_is_aligned = is_aligned(a.row_ptr) && is_aligned(a.col) && is_aligned(weight)};
}

template <class T>
SpmmArgs<device_t<T>> make_spmm_args(const Csr& a, const Tensor& weight, const Tensor& x,
                                     const SpmmSizes& sizes, std::int64_t pitch, const Tensor& y) {
  const std::int64_t stride = sizes.heads * pitch, row_bytes = stride * static_cast<std::int64_t>(sizeof(T));
  check(row_bytes <= std::numeric_limits<std::int32_t>::max(), "[spmm] a row of x has at most 2 GiB, got ",
        row_bytes, " bytes");
  return {a.row_ptr.data<std::int64_t>(),
          a.col.data<std::int32_t>(),
          device_data<T>(weight),
          device_data<T>(x),
          device_data<T>(y),
          a.rows,
          sizes.heads,
          sizes.k,
          pitch,
          stride,
          static_cast<std::uint32_t>(row_bytes),
          0,
          pitch == sizes.k && is_aligned(y)};
}

/// Calls f(Tile{}) with the template case of kKernel for `tile`. Instantiates f for every case in
/// ops/plan/spmm_cases.h.
template <SpmmKernel kKernel, class T, class F>
void dispatch_tile(const SpmmTile& tile, Weighting weighting, F&& f) {
  bool found = false;
  const auto try_weighting = [&]<std::size_t kCase, Weighting kWeighting>() {
    constexpr SpmmCase kCandidate = kSpmmCases[kCase];
    if constexpr (kCandidate.has(kKernel, sizeof(T)) && kCandidate.has(kWeighting)) {
      constexpr SpmmTile kTile = kCandidate.tile;
      if (kTile == tile && weighting == kWeighting) {
        found = true;
        f(Tile < T, kTile.lanes, kWeighting, kTile.loads, kTile.ragged,
          kTile.by_elements ? 1 : static_cast<int>(16 / sizeof(T)) > {});
      }
    }
  };
  const auto try_case = [&]<std::size_t kCase>() {
    try_weighting.template operator()<kCase, Weighting::kNone>();
    try_weighting.template operator()<kCase, Weighting::kPerEdge>();
    try_weighting.template operator()<kCase, Weighting::kPerHead>();
  };
  [&]<std::size_t... kCase>(std::index_sequence<kCase...>) {
    (try_case.template operator()<kCase>(), ...);
  }
  (std::make_index_sequence<std::size(kSpmmCases)>{});
  check(found, "[spmm] no kernel is compiled for a tile of ", tile);
}

}  // namespace rodeo::kernels::cuda
