// y[i, j] = the maximum or minimum of w[e] x[col(e), j] over the edges of row i, and arg[i, j], its position
// in the row. Candidates have a total order (value, then position), so the result does not depend on the
// order of comparisons. Pieces of split rows write value and position to a workspace, which a second launch
// compares: no atomics. The minimum is the maximum of the negated values; negation is exact.
#include <type_traits>

#include "ops/cuda/rode/row_reduction.cuh"
#include "ops/cuda/spmm/row_positions.cuh"
#include "ops/sparse/graph_plans.h"

namespace rodeo::kernels::cuda {
namespace {

/// `at` is the position in the row, -1 for none. NaN is larger than all numbers; the first of equals wins.
template <class Value>
struct Candidate {
  Value value = 0;
  std::int32_t at = -1;

  __device__ bool beats(const Candidate& other) const {
    if (at < 0 || other.at < 0) return other.at < 0 && at >= 0;
    const bool nan = value != value, other_nan = other.value != other.value;
    if (nan || other_nan) return nan && (!other_nan || at < other.at);
    return value > other.value || (value == other.value && at < other.at);
  }
};

/// The larger one; NaN if one is.
template <class Value>
__device__ Value maximum(Value a, Value b) {
  if constexpr (sizeof(Value) == 4) {
    Value larger;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(a), "f"(b));
    return larger;
  } else {
    return a != a || a > b ? a : b;
  }
}

/// The best candidates of kVec columns of 16-bit values, two in a register.
template <class T, int kVec>
struct CandidatePairs {
  using Pair = std::conditional_t<std::is_same_v<T, __half>, __half2, __nv_bfloat162>;
  static constexpr int kMaxLength = 1 << 16;  // positions have 16 bits
  std::uint32_t best[kVec / 2], at[kVec / 2];

  __device__ explicit CandidatePairs(int first) {
    const T lowest = static_cast<T>(-INFINITY);
    const Pair pair(lowest, lowest);
#pragma unroll
    for (int i = 0; i < kVec / 2; ++i) {
      best[i] = reinterpret_cast<const std::uint32_t&>(pair);
      at[i] = twice(first);
    }
  }
  __device__ static std::uint32_t twice(int position) {
    return static_cast<std::uint32_t>(position) * 0x10001u;
  }
  /// Positions ascend, so that the first of equals stays. The position of a NaN is not known.
  __device__ void take_next(const Pack<T, kVec>& row, int position) {
#pragma unroll
    for (int i = 0; i < kVec / 2; ++i) {
      const auto& next = reinterpret_cast<const Pair&>(row.value[2 * i]);
      const auto& now = reinterpret_cast<const Pair&>(best[i]);
      const std::uint32_t take = __hgt2_mask(next, now);
      const Pair larger = __hmax2_nan(now, next);
      best[i] = reinterpret_cast<const std::uint32_t&>(larger);
      at[i] = (twice(position) & take) | (at[i] & ~take);
    }
  }
  __device__ float value(int v) const {
    const auto& pair = reinterpret_cast<const Pair&>(best[v / 2]);
    return static_cast<float>(v % 2 == 0 ? pair.x : pair.y);
  }
  __device__ std::int32_t position(int v) const {
    return static_cast<std::int32_t>(at[v / 2] >> v % 2 * 16 & 0xffff);
  }
};

template <class T, class Value>
struct MinmaxArgs {
  RodeView rode;
  const std::int64_t* row_ptr;
  const std::int32_t* col;
  const T* weight;  // [edges, heads], or null
  const T* x;
  std::int64_t k, heads, per_head;  // k = heads * per_head columns
  Value sign;
  bool scaled;  // by sign or weights
  T* y;
  RowPositions arg;          // of [rows, k], or none
  Value* partial;            // [slots, k]
  std::int32_t* partial_at;  // [slots, k]
  std::int32_t* split_row;   // [split rows]
};

template <class Tile>
struct MinmaxRow : RowLanes<Tile, MinmaxArgs<typename Tile::T, typename Tile::Sum>> {
  using Base = RowLanes<Tile, MinmaxArgs<typename Tile::T, typename Tile::Sum>>;
  using typename Base::Row, typename Base::T;
  using Value = typename Tile::Sum;
  using Base::active, Base::args, Base::Base, Base::column, Base::kVec;

  using Pairs = CandidatePairs<T, kVec>;
  static constexpr int kPairs = sizeof(T) == 2 ? kVec / 2 : 0;

  const std::int64_t head = column / args.per_head;
  Candidate<Value> best[kVec];

  __device__ void visit(const RodeView::Part& part, int first, int step) {
    if (!active || first >= part.length) return;
    const auto offset = static_cast<std::int32_t>(part.begin - args.row_ptr[part.row]);
#pragma unroll
    for (int v = 0; v < kVec; ++v) best[v] = {-INFINITY, offset + first};
    visit_all(part, offset, first, step);
#pragma unroll
    for (int v = 0; v < kVec; ++v)
      if (best[v].value != best[v].value) best[v].at = offset + first_nan(part, first, step, v);
  }
  __device__ void visit_all(const RodeView::Part& part, std::int32_t offset, int first, int step) {
    if constexpr (kPairs > 0)
      if (!args.scaled && part.length <= Pairs::kMaxLength) return visit_pairs(part, offset, first, step);
    if (!args.scaled)
      return for_each_row(part, first, step, [&](const Row& row, int at) {
#pragma unroll
        for (int v = 0; v < kVec; ++v) take_next(v, widen(row.value[v]), offset + at);
      });
    for_each_row(part, first, step, [&](const Row& row, int at) {
      const Value factor = factor_of(part.begin + min(at, part.length - 1));
#pragma unroll
      for (int v = 0; v < kVec; ++v) take_next(v, factor * widen(row.value[v]), offset + at);
    });
  }
  __device__ Value factor_of(std::int64_t edge) const {
    return args.weight ? args.sign * widen(args.weight[edge * args.heads + head]) : args.sign;
  }
  /// Calls f(row of x, position in the part), kEdgesInFlight rows at a time; the columns of the next ones are
  /// loaded before. Beyond the end it passes the last row again, so that no load is conditional; it does not
  /// beat itself.
  template <class F>
  __device__ void for_each_row(const RodeView::Part& part, int first, int step, F&& f) const {
    const std::int32_t* const col = args.col + part.begin;
    const auto column_at = [&](int at) { return load_streaming(col + min(at, part.length - 1)); };
    const auto* const x = reinterpret_cast<const char*>(args.x + column);
    const auto row_bytes = static_cast<std::uint32_t>(args.k * sizeof(T));
    std::int32_t from[kEdgesInFlight];
#pragma unroll
    for (int u = 0; u < kEdgesInFlight; ++u) from[u] = column_at(first + u * step);
    for (int at = first; at < part.length; at += kEdgesInFlight * step) {
      Row row[kEdgesInFlight];
#pragma unroll
      for (int u = 0; u < kEdgesInFlight; ++u)
        row[u] = *reinterpret_cast<const Row*>(x + wide_product(from[u], row_bytes));
#pragma unroll
      for (int u = 0; u < kEdgesInFlight; ++u) from[u] = column_at(at + (kEdgesInFlight + u) * step);
#pragma unroll
      for (int u = 0; u < kEdgesInFlight; ++u) f(row[u], at + u * step);
    }
  }
  /// The position in the part of the first NaN in a column that has one.
  __device__ int first_nan(const RodeView::Part& part, int first, int step, int v) const {
    for (int at = first;; at += step) {
      const std::int64_t edge = part.begin + at;
      const Value value = factor_of(edge) * widen(args.x[args.col[edge] * args.k + column + v]);
      if (value != value) return at;
    }
  }
  /// 16-bit values without a factor: two in a register, as their positions in the part are.
  __device__ void visit_pairs(const RodeView::Part& part, std::int32_t offset, int first, int step) {
    Pairs pairs(first);
    for_each_row(part, first, step, [&](const Row& row, int at) { pairs.take_next(row, at); });
#pragma unroll
    for (int v = 0; v < kVec; ++v) best[v] = {pairs.value(v), offset + pairs.position(v)};
  }
  /// Candidates of one lane come in the order of their positions, so that the first of equals stays. The
  /// position of a NaN is not known.
  __device__ void take_next(int v, Value value, std::int32_t at) {
    if (value > best[v].value) best[v].at = at;
    best[v].value = maximum(best[v].value, value);
  }
  __device__ void take(int v, const Candidate<Value>& candidate) {
    if (candidate.beats(best[v])) best[v] = candidate;
  }
  /// Every group gets the best of all groups. Called by whole warps.
  __device__ void reduce_groups() {
#pragma unroll
    for (int offset = Tile::kLanes; offset < kWarp; offset *= 2)
#pragma unroll
      for (int v = 0; v < kVec; ++v) {
        Candidate<Value> other;
        other.value = __shfl_xor_sync(kFullMask, best[v].value, offset);
        other.at = __shfl_xor_sync(kFullMask, best[v].at, offset);
        take(v, other);
      }
  }
  __device__ void write(std::int64_t row) const {
    if (!active) return;
    Row out;
#pragma unroll
    for (int v = 0; v < kVec; ++v)
      out.value[v] = static_cast<T>(best[v].at < 0 ? Value(0) : args.sign * best[v].value);
    *reinterpret_cast<Row*>(args.y + row * args.k + column) = out;
    if (!args.arg.planes) return;
    args.arg.store(row * args.k + column, positions().value, args.row_ptr[row + 1] - args.row_ptr[row]);
  }
  __device__ void write_partial(std::int64_t slot) const {
    if (!active) return;
    Pack<Value, kVec> out;
#pragma unroll
    for (int v = 0; v < kVec; ++v) out.value[v] = best[v].value;
    *reinterpret_cast<Pack<Value, kVec>*>(args.partial + slot * args.k + column) = out;
    *reinterpret_cast<Pack<std::int32_t, kVec>*>(args.partial_at + slot * args.k + column) = positions();
  }
  __device__ Pack<std::int32_t, kVec> positions() const {
    Pack<std::int32_t, kVec> out;
#pragma unroll
    for (int v = 0; v < kVec; ++v) out.value[v] = best[v].at;
    return out;
  }
};

// grid (warps / warps of a block, column tiles), block kReductionThreads.
template <class Tile>
__global__ void __launch_bounds__(kReductionThreads)
    minmax_kernel(const MinmaxArgs<typename Tile::T, typename Tile::Sum> args) {
  MinmaxRow<Tile> work(args);
  reduce_rows(work, args);
}

// grid-stride over the elements of the split rows.
template <class T, class Value>
__global__ void combine_pieces_kernel(const MinmaxArgs<T, Value> args, std::int64_t splits) {
  RODEO_GRID_STRIDE(i, splits * args.k) {
    const std::int64_t split = i / args.k, column = i - split * args.k;
    Candidate<Value> best;
#pragma unroll 4
    for (std::int64_t slot = args.rode.split_slot[split]; slot < args.rode.split_slot[split + 1]; ++slot) {
      const std::int64_t from = slot * args.k + column;
      const Candidate<Value> candidate{args.partial[from], args.partial_at[from]};
      if (candidate.beats(best)) best = candidate;
    }
    const std::int64_t row = args.split_row[split], to = row * args.k + column;
    args.y[to] = static_cast<T>(args.sign * best.value);
    if (!args.arg.planes) continue;
    const std::int32_t at[] = {best.at};
    args.arg.store(to, at, args.row_ptr[row + 1] - args.row_ptr[row]);
  }
}

// grid-stride over rows.
template <class T>
__global__ void inverse_row_length_kernel(const std::int64_t* row_ptr, T* out, std::int64_t rows) {
  RODEO_GRID_STRIDE(i, rows) {
    const std::int64_t length = row_ptr[i + 1] - row_ptr[i];
    out[i] = length > 0 ? 1 / static_cast<T>(length) : T(0);
  }
}

/// dispatch_row_tile, with 16 lanes for a row where it is wide enough.
template <class T, class F>
void dispatch_minmax_tile(std::int64_t k, std::int64_t per_head, bool aligned, F&& f) {
  constexpr int kVec = 16 / sizeof(T);
  if constexpr (sizeof(T) < 8)
    if (aligned && per_head % kVec == 0 && k > 8 * kVec) return f(RowTile<T, kVec, 16>{});
  dispatch_row_tile<T>(per_head, aligned, f);
}

}  // namespace

void spmm_minmax(const Adjacency& adj, double sign, const Tensor& weight, const Tensor& x, const Tensor& y,
                 const Tensor& arg) {
  const RodePlan& plan = rodeo::rode_plan(adj);
  dispatch_float(x.dtype(), "spmm", [&]<class Host>(Host) {
    using T = device_t<Host>;
    using Value = Accumulator<T>;
    const std::int64_t k = x.numel() / adj.cols(), splits = plan.num_split_rows();
    MinmaxArgs<T, Value> args{.rode = RodeView(plan)};
    args.row_ptr = adj.csr().row_ptr.data<std::int64_t>();
    args.col = adj.csr().col.data<std::int32_t>();
    args.weight = device_data<T>(weight);
    args.x = device_data<T>(x);
    args.k = k;
    args.heads = heads_of(weight);
    args.per_head = k / args.heads;
    args.sign = static_cast<Value>(sign);
    args.scaled = sign != 1 || weight.defined();
    args.y = device_data<T>(y);
    args.arg = RowPositions(arg);
    const SplitRows split(plan, y.device(), args);
    Tensor partial_at;
    if (splits > 0) partial_at = Tensor::empty({plan.num_slots, k}, DType::kI32, y.device());
    args.partial_at = static_cast<std::int32_t*>(partial_at.raw());
    dispatch_minmax_tile<T>(k, args.per_head, is_aligned(x) && is_aligned(y), [&]<class Tile>(Tile) {
      launch_reduction<Tile>("spmm_minmax", y.device(), minmax_kernel<Tile>, args);
    });
    launch("spmm_minmax", y.device(), combine_pieces_kernel<T, Value>, grid_for(splits * k, 256), dim3(256),
           0, args, splits);
  });
}

void inverse_row_length(const Csr& a, const Tensor& out) {
  const auto run = [&]<class T>(T) {
    launch("inverse_row_length", out.device(), inverse_row_length_kernel<T>, grid_for(a.rows, 256), dim3(256),
           0, a.row_ptr.data<std::int64_t>(), out.data<T>(), a.rows);
  };
  if (out.dtype() == DType::kF64)
    run(double{});
  else
    run(float{});
}

}  // namespace rodeo::kernels::cuda
