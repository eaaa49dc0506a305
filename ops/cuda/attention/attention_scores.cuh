/// Scores of attention from vectors of both ends of an edge, and their derivatives: parts of the passes in
/// attention_passes.cuh. `own` is the vector of the row that is walked, `row` that of the edge's other end.
/// A score's Slopes are what its backward pass reads of an edge again, kept in registers from the score on.
#pragma once

#include "ops/cuda/attention/head_tile.cuh"

namespace rodeo::kernels::cuda {

template <class T>
struct AttentionPassArgs {
  using Sum = Accumulator<T>;
  HeadRows<T> own, own_value;  // of the walked row: the score's vector; v or dy
  HeadRows<T> table[2];        // gathered: the score's vector, and v or dy where it is another one
  HeadRows<T> edge;            // [edges, heads, k], or null
  const T* bias;               // [edges, heads], or null
  const Sum* a;                // [heads, k] of GATv2
  const Sum* terms;            // [rows of A, heads, 2]: log-sum-exp, and D = <dy, y>
  Sum scale, slope;
  HeadOutput<T> out, out_value;
  HeadOutput<Sum> out_a;
  HeadOutput<T> out_edge;
  T* out_bias;
  Sum* lse;
  int heads;
};

/// scale <own, row>. Values are rows of their own.
template <class Tile>
struct DotScore {
  using Sum = typename Tile::Sum;
  using Part = typename Tile::Part;
  static constexpr bool kOneTable = false;
  struct Slopes {};
  HeadValues<Tile> own;

  __device__ DotScore(const AttentionPassArgs<typename Tile::T>&, const HeadPlace<Tile>&) {}
  /// The edge's vector joins the key, which is `own` in a walk of A^T.
  template <bool kTransposed, bool kEdges>
  __device__ __forceinline__ Sum partial(const Part& row, const Part& edge, Slopes&) const {
    Sum sum = 0;
#pragma unroll
    for (int i = 0; i < Tile::kValues; ++i) {
      Sum mine = own.value[i], other = widen(row.value[i]);
      if constexpr (kEdges) (kTransposed ? mine : other) += widen(edge.value[i]);
      sum += mine * other;
    }
    return sum;
  }
};

/// <a, LeakyReLU(z)>, z = own + row. The row is the value, too.
template <class Tile>
struct Gatv2Score {
  using Sum = typename Tile::Sum;
  using Part = typename Tile::Part;
  static constexpr bool kOneTable = true;
  HeadValues<Tile> own, a, negative_a;  // negative_a: a times the slope
  Sum slope;

  __device__ Gatv2Score(const AttentionPassArgs<typename Tile::T>& args, const HeadPlace<Tile>& place)
      : slope(args.slope) {
    const int width = args.own.width;
#pragma unroll
    for (int i = 0; i < Tile::kValues; ++i) {
      const int at = place.offset(i);
      if (at < width) a.value[i] = args.a[place.head * width + at];
      negative_a.value[i] = slope * a.value[i];
    }
  }
  /// Slopes of the score by z in a walk of A^T. A walk of A sums gradients of `a`, too: slopes of
  /// LeakyReLU(z) and its values.
  struct Slopes {
    Sum slope[Tile::kValues], value[Tile::kValues];
  };
  template <bool kTransposed, bool kEdges>
  __device__ __forceinline__ Sum partial(const Part& row, const Part& edge, Slopes& kept) const {
    Sum sum = 0;
#pragma unroll
    for (int i = 0; i < Tile::kValues; ++i) {
      Sum z = own.value[i] + widen(row.value[i]);
      if constexpr (kEdges) z += widen(edge.value[i]);
      if constexpr (kTransposed) {
        kept.slope[i] = z > 0 ? a.value[i] : negative_a.value[i];
        sum += kept.slope[i] * z;
      } else {
        kept.slope[i] = z > 0 ? Sum(1) : slope;
        kept.value[i] = kept.slope[i] * z;
        sum += a.value[i] * kept.value[i];
      }
    }
    return sum;
  }
};

}  // namespace rodeo::kernels::cuda
