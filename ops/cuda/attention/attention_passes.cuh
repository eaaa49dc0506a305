/// Passes of EdgeWalk: the forward pass with online softmax, and the backward passes over A and A^T, which
/// compute scores again from the log-sum-exp of their rows.
///
/// With p = exp(score - lse), D = <dy, y> and the dropout mask:  ds = p (mask <dy, v> - D).
///   walk of A    dq = scale sum of ds key         dl = sum of ds a lead,  da = sum of ds LeakyReLU(l + r)
///   walk of A^T  dkey = scale sum of ds q,        dr = sum of ds a lead + p mask dy
///                dv = sum of p mask dy
/// where lead is 1 for a positive argument of LeakyReLU, else its slope.
#pragma once

#include <limits>
#include <type_traits>

#include "ops/cuda/attention/attention_scores.cuh"
#include "ops/cuda/attention/edge_walk.cuh"
#include "ops/cuda/attention/exponential.cuh"

namespace rodeo::kernels::cuda {

/// Loads the vector of each edge, where the pass has operands by edge.
template <class Tile, bool kEdges, int kCount>
struct EdgeVectors {
  typename Tile::Part part[kEdges ? kCount : 1] = {};

  template <class IdOf>
  __device__ EdgeVectors(const AttentionPassArgs<typename Tile::T>& args, const HeadPlace<Tile>& place,
                         int count, IdOf&& id_of) {
    if constexpr (kEdges)
#pragma unroll
      for (int d = 0; d < kCount; ++d) {
        const std::int64_t id = id_of(d);
        if (args.edge.data && d < count) part[d] = place.load(args.edge, id);
      }
  }
  __device__ const typename Tile::Part& operator[](int d) const {
    return part[kEdges ? d : 0];
  }
};

template <bool kEdges, class T>
__device__ __forceinline__ Accumulator<T> bias_of(const AttentionPassArgs<T>& args, std::int64_t id,
                                                  int head) {
  if constexpr (kEdges)
    if (args.bias) return widen(args.bias[id * args.heads + head]);
  return 0;
}

template <class Tile_, template <class> class Score, bool kEdges_>
struct AttentionForward {
  using Tile = Tile_;
  using T = typename Tile::T;
  using Sum = typename Tile::Sum;
  using Part = typename Tile::Part;
  using Args = AttentionPassArgs<T>;
  static constexpr bool kTransposed = false, kEdges = kEdges_;
  static constexpr bool kOneTable = Score<Tile>::kOneTable;
  static constexpr int kTables = kOneTable ? 1 : 2;
  // Registers for 8 edges in flight, or 4 of two loads; bf16 spills with two tables of 8.
  static constexpr bool kSpills = std::is_same_v<T, __nv_bfloat16> && kTables == 2;
  static constexpr int kDepth = (Tile::kLoads == 2 || kSpills ? 4 : 8) / (kEdges ? 2 : 1);
  static constexpr int kWarps = 16;
  static constexpr int kOwned = HeadPlace<Tile>::template kOwned<kDepth>;
  static constexpr Sum kLowest = std::numeric_limits<Sum>::lowest();
  static constexpr Sum kInfinity = std::numeric_limits<Sum>::infinity(),
                       kLargest = std::numeric_limits<Sum>::max();

  struct alignas(16) State {
    HeadValues<Tile> sum;
    Sum top = kLowest;  // finite: a row of only -inf scores gets weights of 0, not NaN
    Sum weight = 0;     // of the edges that the lane owns, until close()
  };

  const Args& args;
  const HeadPlace<Tile> place;
  HeadColumn<Tile> table[kTables];
  Score<Tile> score;

  __device__ AttentionForward(const Args& a, const HeadPlace<Tile>& p) : args(a), place(p), score(a, p) {
#pragma unroll
    for (int t = 0; t < kTables; ++t) table[t] = place.column(args.table[t]);
  }
  __device__ void begin(std::int64_t row) {
    score.own = HeadValues<Tile>(place.load(args.own, row));
  }

  static __device__ void scale(State& state, Sum factor) {
#pragma unroll
    for (int i = 0; i < Tile::kValues; ++i) state.sum.value[i] *= factor;
    state.weight *= factor;
  }
  template <class IdOf>
  __device__ __forceinline__ void step(const Part (&row)[kTables][kDepth],
                                       const OwnedEdge<Sum> (&own)[kOwned], int count, IdOf&& id_of,
                                       State& state) const {
    const EdgeVectors<Tile, kEdges, kDepth> edge(args, place, count, id_of);
    Sum part[kDepth], s[kOwned], top = -kInfinity;
#pragma unroll
    for (int d = 0; d < kDepth; ++d) {
      typename Score<Tile>::Slopes unused;
      part[d] = score.template partial<kOneTable, kEdges>(row[0][d], edge[d], unused);
    }
    place.template sum_over_head<kDepth>(part, s);
#pragma unroll
    for (int i = 0; i < kOwned; ++i) {
      s[i] = own[i].valid ? args.scale * s[i] + bias_of<kEdges>(args, own[i].id, place.head) : -kInfinity;
      top = fmax(top, s[i]);  // fmax ignores NaN; the sums propagate it
    }
    top = place.template over_owners<kDepth>(top, [](Sum a, Sum b) { return fmax(a, b); });
    if (top > state.top) {
      scale(state, exponential(state.top - top));
      state.top = top;
    }
#pragma unroll
    for (int i = 0; i < kOwned; ++i) {
      s[i] = exponential(s[i] - state.top);
      state.weight += s[i];
      s[i] *= own[i].keep;
    }
#pragma unroll
    for (int d = 0; d < kDepth; ++d) {
      const Sum weight = place.template from_owner<kDepth>(s, d);
#pragma unroll
      for (int i = 0; i < Tile::kValues; ++i) {
        Sum value = widen(row[kTables - 1][d].value[i]);
        if constexpr (kEdges && kTables == 2) value += widen(edge[d].value[i]);
        state.sum.value[i] += weight * value;
      }
    }
  }
  __device__ void close(State& state) const {
    state.weight = place.template over_owners<kDepth>(state.weight, [](Sum a, Sum b) { return a + b; });
  }
  static __device__ void merge(State& state, State other) {
    const Sum top = fmax(state.top, other.top);
    scale(state, exponential(state.top - top));
    scale(other, exponential(other.top - top));
#pragma unroll
    for (int i = 0; i < Tile::kValues; ++i) state.sum.value[i] += other.sum.value[i];
    state.weight += other.weight;
    state.top = top;
  }
  __device__ void finish(std::int64_t row, const State& state) const {
    const bool none = state.weight == 0;
    place.store(args.out, row, args.heads, state.sum, none ? Sum(0) : 1 / state.weight);
    if (args.lse && place.active && place.in_head == 0)
      args.lse[row * args.heads + place.head] = none ? kLargest : state.top + log(state.weight);
  }
};

template <class Tile_, template <class> class Score, bool kTransposed_, bool kEdges_>
struct AttentionBackward {
  using Tile = Tile_;
  using T = typename Tile::T;
  using Sum = typename Tile::Sum;
  using Part = typename Tile::Part;
  using Args = AttentionPassArgs<T>;
  struct alignas(2 * sizeof(Sum)) RowTerm {
    Sum lse, dot;
  };
  static constexpr bool kTransposed = kTransposed_, kEdges = kEdges_, kOneTable = Score<Tile>::kOneTable;
  static constexpr int kTables = kOneTable && !kTransposed ? 1 : 2;
  static constexpr int kDepth = (Tile::kLoads == 2 ? 2 : 4) / (kEdges ? 2 : 1);
  static constexpr bool kFewRegisters = sizeof(T) == 4 && (Tile::kLoads == 1 || !(kOneTable || kTransposed));
  static constexpr int kWarps = kFewRegisters ? 20 : 16;
  static constexpr int kOwned = HeadPlace<Tile>::template kOwned<kDepth>;
  static constexpr int kSums = kOneTable != kTransposed ? 2 : 1;
  using Slopes = typename Score<Tile>::Slopes;

  struct alignas(16) State {
    HeadValues<Tile> sum[kSums];
  };

  const Args& args;
  const HeadPlace<Tile> place;
  HeadColumn<Tile> table[kTables];
  Score<Tile> score;
  HeadValues<Tile> value;  // dy of the row in A; v of the row in A^T
  RowTerm own_term;

  __device__ AttentionBackward(const Args& a, const HeadPlace<Tile>& p) : args(a), place(p), score(a, p) {
#pragma unroll
    for (int t = 0; t < kTables; ++t) table[t] = place.column(args.table[t]);
  }
  __device__ void begin(std::int64_t row) {
    score.own = HeadValues<Tile>(place.load(args.own, row));
    value = kOneTable && kTransposed ? score.own : HeadValues<Tile>(place.load(args.own_value, row));
    if constexpr (!kTransposed) own_term = row_term(row);
  }
  __device__ RowTerm row_term(std::int64_t row) const {
    return reinterpret_cast<const RowTerm*>(args.terms)[row * args.heads + place.head];
  }

  template <class IdOf>
  __device__ __forceinline__ void step(const Part (&row)[kTables][kDepth],
                                       const OwnedEdge<Sum> (&own)[kOwned], int count, IdOf&& id_of,
                                       State& state) const {
    RowTerm term[kOwned];
#pragma unroll
    for (int i = 0; i < kOwned; ++i) term[i] = kTransposed ? row_term(own[i].col) : own_term;
    const EdgeVectors<Tile, kEdges, kDepth> edge(args, place, count, id_of);
    Sum part[kDepth], dp[kDepth], s[kOwned], ds[kOwned];
    Slopes slopes[kDepth];
#pragma unroll
    for (int d = 0; d < kDepth; ++d) {
      part[d] = score.template partial<kTransposed, kEdges>(row[0][d], edge[d], slopes[d]);
      dp[d] = 0;
#pragma unroll
      for (int i = 0; i < Tile::kValues; ++i) {
        Sum mine = value.value[i], other = widen(row[kTables - 1][d].value[i]);
        if constexpr (kEdges && !kOneTable) (kTransposed ? mine : other) += widen(edge[d].value[i]);
        dp[d] += mine * other;
      }
    }
    place.template sum_over_head<kDepth>(part, s);
    place.template sum_over_head<kDepth>(dp, ds);
#pragma unroll
    for (int i = 0; i < kOwned; ++i) {
      const Sum of_edge = own[i].valid ? bias_of<kEdges>(args, own[i].id, place.head) : Sum(0);
      const Sum p = own[i].valid ? exponential(args.scale * s[i] + of_edge - term[i].lse) : Sum(0);
      s[i] = p * own[i].keep;
      ds[i] = s[i] * ds[i] - p * term[i].dot;
    }
#pragma unroll
    for (int d = 0; d < kDepth; ++d) {
      const Sum of_score = place.template from_owner<kDepth>(ds, d);
      const bool weighted = kTransposed || (kEdges && !kOneTable);
      const Sum weight = weighted ? place.template from_owner<kDepth>(s, d) : Sum(0);
      const std::int64_t id = id_of(d);
      add(row, d, of_score, weight, edge[d], slopes[d], state);
      if constexpr (kEdges && !kTransposed)
        if (d < count) write_edge(id, of_score, weight, slopes[d]);
    }
  }
  __device__ __forceinline__ void add(const Part (&row)[kTables][kDepth], int d, Sum ds, Sum kept,
                                      const Part& edge, const Slopes& slopes, State& state) const {
#pragma unroll
    for (int i = 0; i < Tile::kValues; ++i) {
      if constexpr (kOneTable) {
        state.sum[0].value[i] += ds * slopes.slope[i];
        if constexpr (kTransposed)
          state.sum[0].value[i] += kept * widen(row[1][d].value[i]);
        else
          state.sum[1].value[i] += ds * slopes.value[i];
      } else {
        Sum other = widen(row[0][d].value[i]);
        if constexpr (kEdges && !kTransposed) other += widen(edge.value[i]);
        state.sum[0].value[i] += ds * other;
        if constexpr (kTransposed) state.sum[1].value[i] += kept * widen(row[1][d].value[i]);
      }
    }
  }
  /// The gradients of the edge's own operands.
  __device__ void write_edge(std::int64_t id, Sum ds, Sum kept, const Slopes& slopes) const {
    if (args.out_bias && place.active && place.in_head == 0)
      args.out_bias[id * args.heads + place.head] = static_cast<T>(ds);
    if (args.out_edge.data == nullptr) return;
    HeadValues<Tile> out;
#pragma unroll
    for (int i = 0; i < Tile::kValues; ++i) {
      if constexpr (kOneTable)
        out.value[i] = ds * score.a.value[i] * slopes.slope[i];
      else
        out.value[i] = args.scale * ds * score.own.value[i] + kept * value.value[i];
    }
    place.store(args.out_edge, id, args.heads, out, Sum(1));
  }
  __device__ void close(State&) const {}
  static __device__ void merge(State& state, const State& other) {
#pragma unroll
    for (int s = 0; s < kSums; ++s)
#pragma unroll
      for (int i = 0; i < Tile::kValues; ++i) state.sum[s].value[i] += other.sum[s].value[i];
  }
  __device__ void finish(std::int64_t row, const State& state) const {
    HeadValues<Tile> first = state.sum[0];
    if constexpr (kOneTable && !kTransposed) {
#pragma unroll
      for (int i = 0; i < Tile::kValues; ++i) first.value[i] *= score.a.value[i];
      place.store(args.out_a, row, args.heads, state.sum[1], Sum(1));
    }
    place.store(args.out, row, args.heads, first, kOneTable ? Sum(1) : args.scale);
    if constexpr (!kOneTable && kTransposed)
      place.store(args.out_value, row, args.heads, state.sum[1], Sum(1));
  }
};

}  // namespace rodeo::kernels::cuda
