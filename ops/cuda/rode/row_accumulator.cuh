/// RowAccumulator, the part of a RoDe kernel that multiplies and adds rows of X; and sum_row(), the loop over
/// the nonzeros of one row.
#pragma once

#include <concepts>

#include "ops/cuda/rode/row_loader.cuh"
#include "ops/plan/rode_plan.h"

namespace rodeo::kernels::cuda {

/// Holds the sums of one lane. A kernel uses a RowLoader and a RowAccumulator in this order:
///   1. load_row() and load_weight() for several nonzeros, then add_rows(); or add_rows_if() to skip some;
///   2. collect(): moves the sums to `sum`. It then has the group's sums of the columns that RowLoader gives
///      to this lane;
///   3. reduce_groups() (split_rows.cuh), if the groups of the warp have summed parts of one row;
///   4. recompute_if_not_finite() with the nonzeros that were added. In an MMA an infinite element of X also
///      makes sums of other lanes NaN; such sums are computed again without tensor cores;
///   5. store_row() (row_store.cuh).
/// make_loader() makes the loader, because accumulators differ in which lane loads which part of a row.
template <class A>
concept RowAccumulator =
    requires(A sums, const RowLoader<typename A::Tile>& loader, const SpmmArgs<typename A::Tile::T>& args,
             const typename RowLoader<typename A::Tile>::Row (&row)[A::Loader::kRowsInFlight],
             const typename A::Tile::Sum (&weight)[A::Loader::kRowsInFlight], bool (*wanted)(int),
             std::int64_t begin, std::int64_t length) {
  requires std::same_as<typename A::Loader, RowLoader<typename A::Tile>>;
  { A::make_loader(args) } -> std::same_as<typename A::Loader>;
  sums.add_rows(row, weight);
  sums.add_rows_if(row, weight, wanted);
  sums.collect();
  sums.recompute_if_not_finite(loader, begin, length);
  { sums.sum[0] } -> std::convertible_to<typename A::Tile::Sum>;
};

/// Sums on CUDA cores: every lane sums the columns that it loads, by fused multiply-adds.
template <class Tile_>
struct SimtAccumulator {
  using Tile = Tile_;
  using T = typename Tile::T;
  using Sum = typename Tile::Sum;
  using Loader = RowLoader<Tile>;
  using Row = typename Loader::Row;

  Sum sum[Tile::kSums] = {};

  __device__ static Loader make_loader(const SpmmArgs<T>& args) { return Loader(args); }

  __device__ void add(const Row& row, Sum weight) {
    struct Elements {
      T value[Tile::kSums];
    };
    const auto elements = std::bit_cast<Elements>(row);
#pragma unroll
    for (int v = 0; v < Tile::kSums; ++v) {
      if constexpr (Tile::kWeighting != Weighting::kNone)
        sum[v] += weight * widen(elements.value[v]);
      else
        sum[v] += widen(elements.value[v]);
    }
  }
  template <int kRows>
  __device__ void add_rows(const Row (&row)[kRows], const Sum (&weight)[kRows]) {
#pragma unroll
    for (int k = 0; k < kRows; ++k) add(row[k], weight[k]);
  }
  template <int kRows, class Wanted>
  __device__ void add_rows_if(const Row (&row)[kRows], const Sum (&weight)[kRows], Wanted&& wanted) {
#pragma unroll
    for (int k = 0; k < kRows; ++k)
      if (wanted(k)) add(row[k], weight[k]);
  }
  __device__ void collect() {}
  __device__ void recompute_if_not_finite(const Loader&, std::int64_t, std::int64_t) {}
};

/// How sum_row() is compiled. The sums are the same; which way is faster depends on the kernel.
struct RowSumStyle {
  bool wide_product = true;  // RowLoader::load_row
  bool adds_zeros = false;   // zeros in place of nonzeros that a group lacks: one loop body instead of two
};

/// Every group adds nonzeros [begin, begin + length) of its own row, in order. The caller passes
/// loader.load_first_entry(begin, length) as `next`, so that it can load it early. Called by whole warps.
template <RowSumStyle kStyle = RowSumStyle{}, RowAccumulator A>
__device__ void sum_row(const RowLoader<typename A::Tile>& loader, A& sums, std::int64_t begin, int length,
                        typename RowLoader<typename A::Tile>::Entry next) {
  using Loader = RowLoader<typename A::Tile>;
  constexpr int kLanes = A::Tile::kLanes, kRows = Loader::kRowsInFlight;
  // Unrolled, shuffles are from constant lanes; with more loads the code and the registers are too many.
  constexpr int kUnroll = A::Tile::kVec > 1 && A::Tile::kLoads == 1 ? kLanes / kRows : 1;
  const int longest = __reduce_max_sync(kFullMask, length), shortest = __reduce_min_sync(kFullMask, length);
  for (int base = 0; base < longest; base += kLanes) {
    const auto now = next;
    const int ahead = base + kLanes + loader.member;
    next = ahead < length ? loader.load_entry(begin + ahead) : typename Loader::Entry();
#pragma unroll(kUnroll)
    for (int j = 0; j < kLanes; j += kRows) {
      const int first = base + j;
      if (first >= longest) break;
      typename Loader::Row row[kRows];
      typename Loader::Sum weight[kRows];
      if (kStyle.adds_zeros || first + kRows <= shortest) {  // else all groups have these nonzeros
#pragma unroll
        for (int k = 0; k < kRows; ++k) {
          const auto entry = loader.entry_of_member(now, j + k);
          row[k] = {};
          weight[k] = 0;
          if (kStyle.adds_zeros && first + k >= length) continue;
          row[k] = loader.template load_row<kStyle.wide_product>(entry.col);
          weight[k] = loader.load_weight(entry, begin + first + k);
        }
        sums.add_rows(row, weight);
      } else {
#pragma unroll
        for (int k = 0; k < kRows; ++k) {
          const auto entry = loader.entry_of_member(now, j + k);
          weight[k] = 0;
          if (first + k < length)
            row[k] = loader.template load_row<kStyle.wide_product>(entry.col),
            weight[k] = loader.load_weight(entry, begin + first + k);
        }
        sums.add_rows_if(row, weight, [&](int k) { return first + k < length; });
      }
    }
  }
}

/// Sums a row of any length. Sums parts of RodePlan::kSplit nonzeros and then adds the sums of the
/// parts, so that rounding errors grow less with the length of the row.
template <RowAccumulator A>
__device__ void sum_long_row(const RowLoader<typename A::Tile>& loader, A& sums, std::int64_t begin,
                             std::int64_t length) {
  using Tile = typename A::Tile;
  constexpr std::int64_t kPart = RodePlan::kSplit;
  // Volatile: in local memory. Registers would be reserved for all rows, and few rows are as long as this.
  volatile typename Tile::Sum total[Tile::kSums];
#pragma unroll
  for (int v = 0; v < Tile::kSums; ++v) total[v] = 0;
#pragma unroll 1
  for (std::int64_t at = 0; __any_sync(kFullMask, at < length); at += kPart) {
    const int part = static_cast<int>(max(std::int64_t{0}, min(length - at, kPart)));
    sum_row(loader, sums, begin + at, part, loader.load_first_entry(begin + at, part));
#pragma unroll
    for (int v = 0; v < Tile::kSums; ++v) {
      total[v] = total[v] + sums.sum[v];
      sums.sum[v] = 0;
    }
  }
#pragma unroll
  for (int v = 0; v < Tile::kSums; ++v) sums.sum[v] = total[v];
}

}  // namespace rodeo::kernels::cuda
