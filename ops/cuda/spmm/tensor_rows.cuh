/// Rows of X added up by tensor cores (TCA-SpMM), for RodeWarp.
#pragma once

#include "ops/cuda/rode/rode_rows.cuh"
#include "ops/cuda/spmm/tca_mma.cuh"
#include "ops/plan/tca_map.h"

namespace rodeo::kernels::cuda {

/// Four nonzeros at a time are the right operand of an MMA, and what the lanes loaded of their rows of X is
/// the left one, without being moved (ops/plan/tca_map.h). Products add up in the same accumulators; the
/// diagonal is taken once, by settle().
template <class Tile_>
struct TensorRow : RodeRow<Tile_> {
  using Tile = Tile_;
  using Base = RodeRow<Tile>;
  using Base::sum;
  using typename Base::Row;
  using Map = tca::Packing<Tile::kLanes>;
  using Product = Mma<typename Tile::T>;
  static constexpr int kDepth = tca::kDepth;
  static constexpr bool kWeighted = Tile::kWeighting != Weighting::kNone;
  static_assert(Tile::kChunks == 1 && Base::kStep == kDepth && Tile::kWeighting != Weighting::kPerHead);

  float product[Product::kProducts][4] = {};

  __device__ explicit TensorRow(const SpmmArgs<typename Tile::T>& args) : Base(args) {
    const std::int64_t column = this->tile + Map::piece(this->lane) * Tile::kVec;
    this->x[0] = reinterpret_cast<const char*>(args.x + min(column, args.stride - Tile::kVec));
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
    if constexpr (!kWeighted) {
      Product::add(product, left, right_operand({1, 1, 1, 1}));
    } else {
#pragma unroll
      for (int right = 0; right < Map::kRights; ++right) {
        float w[kDepth];
#pragma unroll
        for (int k = 0; k < kDepth; ++k)
          w[k] = __shfl_sync(kFullMask, weight[k], Map::set_of_right(this->lane, right) * Tile::kLanes);
        MmaLeft own;
#pragma unroll
        for (int k = 0; k < kDepth; ++k)
#pragma unroll
          for (int i = 0; i < 4; ++i)
            own.word[k][i] = Map::right_of(this->lane) == right ? left.word[k][i] : 0;
        Product::add(product, own, right_operand(w));
      }
    }
  }
  __device__ typename Product::Right right_operand(const float (&weight)[kDepth]) const {
    float w[kDepth];
#pragma unroll
    for (int k = 0; k < kDepth; ++k) w[k] = Map::on_diagonal(this->lane) ? weight[k] : 0;
    return Product::right(w);
  }

  __device__ void settle() {
    const bool odd = Map::kept(this->lane);
#pragma unroll
    for (int p = 0; p < Product::kProducts; ++p)
#pragma unroll
      for (int i = 0; i < 4; i += 2) {
        const float low = product[p][i], high = product[p][i + 1];
        float value = odd ? high : low;
        if constexpr (kWeighted) {
          const float other = __shfl_xor_sync(kFullMask, odd ? low : high, 2);
          if (!Map::counts(this->lane)) value = other;
        }
        sum[2 * p + i / 2] = value;
        product[p][i] = product[p][i + 1] = 0;
      }
  }

  /// A zero of the right operand times infinity is NaN: where a sum is not finite, its columns are added up
  /// by themselves.
  __device__ void mend(std::int64_t begin, std::int64_t length) {
    bool finite = true;
#pragma unroll
    for (int v = 0; v < Tile::kSums; ++v) finite = finite && isfinite(sum[v]);
    if (finite || !this->active(0)) return;
#pragma unroll
    for (int v = 0; v < Tile::kSums; ++v) sum[v] = 0;
#pragma unroll 1
    for (std::int64_t e = begin; e < begin + length; ++e) {
      const auto entry = this->fetch(e);
      const auto* at = this->args.x + entry.col * this->args.stride + this->column;
      this->add({*reinterpret_cast<const uint4*>(at)}, entry.weight);
    }
  }
};

}  // namespace rodeo::kernels::cuda
