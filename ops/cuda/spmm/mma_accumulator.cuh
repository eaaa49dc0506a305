/// Sums rows of X with tensor cores (RoDe-TC).
#pragma once

#include "ops/cuda/rode/row_accumulator.cuh"
#include "ops/cuda/spmm/rode_tc_mma.cuh"
#include "ops/plan/rode_tc_map.h"

namespace rodeo::kernels::cuda {

/// A RowAccumulator. Four nonzeros at a time are the right operand of an MMA. The left one is what the lanes
/// loaded of the rows of X, as it is in their registers (ops/plan/rode_tc_map.h). Products of all nonzeros
/// are added in the same accumulator fragments; collect() takes their diagonals once.
template <class Tile_>
struct MmaAccumulator {
  using Tile = Tile_;
  using T = typename Tile::T;
  using Loader = RowLoader<Tile>;
  using Row = typename Loader::Row;
  using Map = rode_tc::Packing<Tile::kLanes>;
  using Product = Mma<T>;
  static constexpr int kDepth = rode_tc::kDepth;
  static constexpr bool kWeighted = Tile::kWeighting != Weighting::kNone;
  // How the weights of several sets are multiplied: in the left operand, so that all sets share one right
  // operand of ones, or by a right operand for each two sets, each with a product of its own. In 16 bits the
  // first takes two products, so it pays where the second would take two or four.
  static constexpr int kScaledLanes = 8;
  static constexpr bool kScalesLeft = kWeighted && (sizeof(T) == 4 || Tile::kLanes <= kScaledLanes);
  static constexpr bool kHasRights = kWeighted && !kScalesLeft;
  static_assert(Tile::kLoads == 1 && Loader::kRowsInFlight == kDepth &&
                Tile::kWeighting != Weighting::kPerHead);

  float sum[Tile::kSums] = {};
  float product[Product::kProducts][4] = {};
  const int lane = threadIdx.x % kWarp;

  __device__ static Loader make_loader(const SpmmArgs<T>& args) {
    return Loader(args, Map::piece(threadIdx.x % kWarp));
  }

  __device__ void add_rows(const Row (&row)[kDepth], const float (&weight)[kDepth]) {
    add_rows_if(row, weight, [](int) { return true; });
  }
  template <class Wanted>
  __device__ void add_rows_if(const Row (&row)[kDepth], const float (&weight)[kDepth], Wanted&& wanted) {
    using Words = Pack<Word, 4>;
    MmaLeft left;
#pragma unroll
    for (int k = 0; k < kDepth; ++k) {
      const auto words = std::bit_cast<Words>(row[k]);
#pragma unroll
      for (int w = 0; w < 4; ++w) left.word[k][w] = wanted(k) ? words.value[w] : 0;
    }
    if constexpr (kScalesLeft) {
      Product::add_scaled(product, left, weight, right_operand({1, 1, 1, 1}));
    } else if constexpr (!kWeighted) {
      Product::add(product, left, right_operand({1, 1, 1, 1}));
    } else {
      static_assert(Map::kTakesWeights, "each lane has the weights of its own column of the right operand");
      Product::add(product, left, right_operand(weight));
    }
  }
  __device__ typename Product::Right right_operand(const float (&weight)[kDepth]) const {
    float w[kDepth];
#pragma unroll
    for (int k = 0; k < kDepth; ++k) w[k] = Map::on_diagonal(lane) ? weight[k] : 0;
    return Product::right(w);
  }

  /// Moves the diagonals of the products to `sum` and zeroes the products.
  __device__ void collect() {
    const bool odd = Map::kept(lane);
#pragma unroll
    for (int p = 0; p < Product::kProducts; ++p)
#pragma unroll
      for (int i = 0; i < 4; i += 2) {
        const float low = product[p][i], high = product[p][i + 1];
        float value = odd ? high : low;
        if constexpr (kHasRights) {
          const float other = __shfl_xor_sync(kFullMask, odd ? low : high, 2);
          if (!Map::counts(lane)) value = other;
        }
        sum[2 * p + i / 2] = value;
        product[p][i] = product[p][i + 1] = 0;
      }
  }

  /// Zeros of the right operand times infinity are NaN in columns of other lanes. Where a sum is not finite,
  /// its lane sums nonzeros [begin, begin + length) again without MMA.
  __device__ void recompute_if_not_finite(const Loader& loader, std::int64_t begin, std::int64_t length) {
    bool finite = true;
#pragma unroll
    for (int v = 0; v < Tile::kSums; ++v) finite = finite && isfinite(sum[v]);
    if (finite || !loader.active(0)) return;
    SimtAccumulator<Tile> exact;
#pragma unroll 1
    for (std::int64_t e = begin; e < begin + length; ++e) {
      const auto entry = loader.load_entry(e);
      const auto* at = loader.args.x + entry.col * loader.args.stride + loader.column;
      exact.add({*reinterpret_cast<const uint4*>(at)}, entry.weight);
    }
#pragma unroll
    for (int v = 0; v < Tile::kSums; ++v) sum[v] = exact.sum[v];
  }
};

}  // namespace rodeo::kernels::cuda
