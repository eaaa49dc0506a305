// Softmax over the edges of each row, per head, and its gradient. The values of a row are contiguous, [its
// edges, heads]. Every lane works on one head, so that a warp reads consecutive addresses.
//
// A team of warps loads a row into registers, reduces per head (shuffles, then shared memory, both in a fixed
// order) and writes from registers: one read, one write. A row of less than 32 edges has one warp. Longer
// rows have blocks, assigned by the pieces of RoDe (ops/plan/rode_plan.h): if the row fits the registers of a
// block, the block of its first piece does all of it. Rows beyond that take two launches, which spread a hub
// over the whole GPU. In the first one every piece writes its statistic to a workspace. In the second one
// every piece combines the statistics of its row, reads its edges again and writes. No atomics: results are
// reproducible.
#include <cmath>

#include "ops/cuda/device/pack.cuh"
#include "ops/cuda/device/tensor_data.cuh"
#include "ops/cuda/rode/rode_view.cuh"
#include "ops/cuda/rode/tile.cuh"
#include "ops/kernels/attention.h"
#include "ops/plan/attention_config.h"
#include "ops/sparse/graph_plans.h"

namespace rodeo::kernels::cuda {
namespace {

/// Calls f(k) for k in [0, count), rounded up to a whole batch. Unrolled, because items are registers.
template <int kItems, class F>
__device__ __forceinline__ void for_each_item(int count, F&& f) {
  constexpr int kBatch = kItems >= 16 ? 4 : 1;
  static_assert(kItems % kBatch == 0, "items come in whole batches");
#pragma unroll
  for (int first = 0; first < kItems; first += kBatch) {
    if (first >= count) break;
#pragma unroll
    for (int k = first; k < first + kBatch; ++k) f(k);
  }
}

/// Scores to y. The statistic of a set of edges is the maximum and the sum of exp(score - maximum).
template <class T>
struct Forward {
  using Element = T;
  using Value = Accumulator<T>;
  using Item = T;
  struct Stat {
    Value top, sum;
  };
  static constexpr int kResident = 768;  // threads of a multiprocessor, limited by the registers of 32 items
  const T* score;
  T* y;

  __device__ void move(std::int64_t offset) { score += offset, y += offset; }
  __device__ Item load() const { return *score; }
  static __device__ Item neutral() { return static_cast<T>(-INFINITY); }
  static __device__ Stat identity() { return {static_cast<Value>(-INFINITY), Value(0)}; }
  /// The value subtracted from scores. Not -inf, because -inf - -inf is NaN.
  static __device__ Value shift(Value top) { return top == static_cast<Value>(-INFINITY) ? Value(0) : top; }
  static __device__ Stat combine(const Stat& a, const Stat& b) {
    const bool a_first = a.top >= b.top;  // never NaN: fmax ignores NaN, the sum propagates it
    const Value high = a_first ? a.top : b.top, low = a_first ? b.top : a.top;
    const Value scale = high == low ? Value(1) : exp(low - high);
    return {high, a_first ? a.sum + scale * b.sum : b.sum + scale * a.sum};
  }
  template <int kItems>
  static __device__ Stat summary(const Item (&item)[kItems], int count) {
    Stat stat = identity();
    for_each_item<kItems>(count, [&](int k) { stat.top = fmax(stat.top, widen(item[k])); });
    const Value base = shift(stat.top);
    for_each_item<kItems>(count, [&](int k) { stat.sum += exp(widen(item[k]) - base); });
    return stat;
  }
  /// Replaces the sum by its inverse, or by 0 where all scores are -inf. Once per row.
  static __device__ Stat finished(const Stat& stat) {
    return {shift(stat.top), stat.sum == 0 ? Value(0) : Value(1) / stat.sum};
  }
  __device__ void write(const Item& item, const Stat& stat) const {
    *y = static_cast<T>(exp(widen(item) - stat.top) * stat.sum);
  }
};

/// y and dy to ds. The statistic is the sum of y dy.
template <class T>
struct Backward {
  using Element = T;
  using Value = Accumulator<T>;
  struct Item {
    T y, dy;
  };
  struct Stat {
    Value dot;
  };
  static constexpr int kResident = 512;
  const T *y, *dy;
  T* ds;

  __device__ void move(std::int64_t offset) { y += offset, dy += offset, ds += offset; }
  __device__ Item load() const { return {*y, *dy}; }
  static __device__ Item neutral() { return {static_cast<T>(0.0f), static_cast<T>(0.0f)}; }
  static __device__ Stat identity() { return {Value(0)}; }
  static __device__ Stat combine(const Stat& a, const Stat& b) { return {a.dot + b.dot}; }
  template <int kItems>
  static __device__ Stat summary(const Item (&item)[kItems], int count) {
    Stat stat = identity();
    for_each_item<kItems>(count, [&](int k) { stat.dot += widen(item[k].y) * widen(item[k].dy); });
    return stat;
  }
  static __device__ Stat finished(const Stat& stat) { return stat; }
  __device__ void write(const Item& item, const Stat& stat) const {
    *ds = static_cast<T>(widen(item.y) * (widen(item.dy) - stat.dot));
  }
};

template <class Value>
__device__ Value shuffle(Value value, int source) {
  return __shfl_sync(kFullMask, value, source);
}
template <class T>
__device__ auto shuffle_stat(const typename Forward<T>::Stat& s, int source, const Forward<T>&) {
  return typename Forward<T>::Stat{shuffle(s.top, source), shuffle(s.sum, source)};
}
template <class T>
__device__ auto shuffle_stat(const typename Backward<T>::Stat& s, int source, const Backward<T>&) {
  return typename Backward<T>::Stat{shuffle(s.dot, source)};
}

/// Heads as kernels see them: blockIdx.y is a tile of `width` heads.
struct Heads {
  std::int64_t count;
  int width;
};

template <class Op, int kWarps, int kItems>
struct Team {
  using Item = typename Op::Item;
  using Stat = typename Op::Stat;

  const Op& op;
  const std::int64_t heads;
  const int width, lane = threadIdx.x % kWarp, warp = kWarps == 1 ? 0 : threadIdx.x / kWarp;
  const int warp_groups = kWarp / width;  // edges of a warp at a time; the remaining lanes idle
  const int groups = kWarps * warp_groups;
  const int group = warp * warp_groups + lane / width;
  const std::int64_t head = static_cast<std::int64_t>(blockIdx.y) * width + lane % width;
  const bool active = lane < warp_groups * width && head < heads;
  Item item[kItems];

  __device__ Team(const Op& o, const Heads& h) : op(o), heads(h.count), width(h.width) {}

  /// Edges that fit the registers.
  __device__ int capacity() const { return kItems * groups; }
  /// Items of the first group, and of this lane, in a chunk of at most capacity() edges from `begin` on.
  __device__ int steps(std::int64_t begin, std::int64_t end) const { return items_of(end - begin); }
  __device__ int own_steps(std::int64_t begin, std::int64_t end) const {
    return active ? items_of(end - begin - group) : 0;
  }
  __device__ int items_of(std::int64_t edges) const {
    return edges >= capacity() ? kItems : edges <= 0 ? 0 : (static_cast<int>(edges) + groups - 1) / groups;
  }
  /// The arrays at this lane's first value of the chunk. Pointers advance from item to item: offsets would
  /// stay alive from loads to writes and spill.
  __device__ Op at(std::int64_t begin) const {
    Op moved = op;
    moved.move((begin + group) * heads + head);
    return moved;
  }

  __device__ void load(std::int64_t begin, std::int64_t end) {
    const int count = steps(begin, end), own = own_steps(begin, end);
    Op from = at(begin);
    for_each_item<kItems>(count, [&](int k) {
      item[k] = Op::neutral();
      if (k < own) item[k] = from.load();
      from.move(groups * heads);
    });
  }
  /// This lane's statistic of edges [begin, end). The last capacity() edges stay in registers.
  __device__ Stat share(std::int64_t begin, std::int64_t end) {
    Stat stat = Op::identity();
    for (; begin < end; begin += capacity()) {
      load(begin, end);
      stat = Op::combine(stat, Op::summary(item, steps(begin, end)));
    }
    return stat;
  }
  /// This lane's share of the statistics [slots, heads] that the pieces of a row wrote.
  __device__ Stat share_of(const Stat* partial, std::int64_t first, std::int64_t last) const {
    Stat stat = Op::identity();
    for (std::int64_t slot = first + group; active && slot < last; slot += groups)
      stat = Op::combine(stat, partial[slot * heads + head]);
    return stat;
  }
  /// The combined statistic of this lane's head, in every lane. All threads of the team call it, once.
  __device__ Stat reduce(Stat stat, Stat (*shared)[kWarp]) const {
    const int own = lane / width, column = lane % width;
#pragma unroll
    for (int step = kWarp / 2; step > 0; step /= 2) {
      const bool has_other = own + step < warp_groups;
      const Stat other = shuffle_stat(stat, has_other ? lane + step * width : lane, op);
      if (own < step && has_other) stat = Op::combine(stat, other);
    }
    stat = shuffle_stat(stat, column, op);
    if constexpr (kWarps > 1) {
      if (lane < width) shared[warp][lane] = stat;
      __syncthreads();
      stat = shared[0][column];
#pragma unroll
      for (int w = 1; w < kWarps; ++w) stat = Op::combine(stat, shared[w][column]);
    }
    return stat;
  }
  __device__ void write(std::int64_t begin, std::int64_t end, Stat stat, bool in_registers) {
    stat = Op::finished(stat);
    for (; begin < end; begin += capacity()) {
      if (!in_registers) load(begin, end);
      const int own = own_steps(begin, end);
      Op to = at(begin);
      for_each_item<kItems>(own, [&](int k) {
        if (k < own) to.write(item[k], stat);
        to.move(groups * heads);
      });
    }
  }
};

constexpr int kShortThreads = 128;
constexpr int kShortItems = 8;

// Rows of less than RodePlan::kBlock edges, a warp each. Grid (rows / warps of a block, head tiles), block
// kShortThreads.
template <class Op>
__global__ void __launch_bounds__(kShortThreads)
    short_rows_kernel(const Op op, Heads heads, const std::int64_t* row_ptr, std::int64_t rows) {
  const std::int64_t row = (static_cast<std::int64_t>(blockIdx.x) * kShortThreads + threadIdx.x) / kWarp;
  if (row >= rows) return;
  const std::int64_t begin = row_ptr[row], end = row_ptr[row + 1];
  if (begin == end || end - begin >= RodePlan::kBlock) return;
  Team<Op, 1, kShortItems> team(op, heads);
  const auto stat = team.reduce(team.share(begin, end), nullptr);
  team.write(begin, end, stat, end - begin <= team.capacity());
}

enum class Phase { kSummarise, kWrite };  // rows that fit the registers of a block do everything in kWrite

// Grid (pieces, head tiles), block kWarps warps.
template <class Op, int kWarps, int kItems>
__global__ void __launch_bounds__(kWarps* kWarp, Op::kResident / (kWarps * kWarp))
    pieces_kernel(const Op op, Heads heads, RodeView rode, const std::int64_t* row_ptr,
                  typename Op::Stat* partial, Phase phase) {
  using Stat = typename Op::Stat;
  __shared__ Stat shared[kWarps][kWarp];
  Team<Op, kWarps, kItems> team(op, heads);
  const RodeView::Part piece = rode.piece(blockIdx.x);
  const std::int32_t split = rode.piece_split[blockIdx.x];
  const std::int64_t row_begin = row_ptr[piece.row], row_end = row_ptr[piece.row + 1], begin = piece.begin;
  const bool whole = split < 0 || row_end - row_begin <= team.capacity();
  if (whole && (phase != Phase::kWrite || begin != row_begin)) return;

  const std::int64_t end = whole ? row_end : begin + piece.length;
  const std::int64_t first = whole ? 0 : rode.split_slot[split];
  const bool summarised = !whole && phase == Phase::kWrite;
  const Stat stat = team.reduce(
      summarised ? team.share_of(partial, first, rode.split_slot[split + 1]) : team.share(begin, end),
      shared);
  if (phase == Phase::kWrite) {
    team.write(begin, end, stat, !summarised && end - begin <= team.capacity());
  } else if (team.group == 0 && team.active) {
    const std::int64_t slot = first + rode.index_of(piece, row_ptr);
    partial[slot * heads.count + team.head] = stat;
  }
}

template <class Op, int kWarps>
void run_pieces(const Op& op, const Heads& heads, unsigned head_tiles, const Csr& a, const RodePlan& plan) {
  constexpr int kItems = sizeof(typename Op::Value) == 8 ? 16 : 32;
  const Device device = a.col.device();
  const dim3 grid(static_cast<unsigned>(plan.num_pieces()), head_tiles);
  const auto run_phase = [&](Phase phase, const Tensor& partial) {
    launch("edge_softmax", device, pieces_kernel<Op, kWarps, kItems>, grid, dim3(kWarps * kWarp), 0, op,
           heads, RodeView(plan), a.row_ptr.data<std::int64_t>(),
           static_cast<typename Op::Stat*>(partial.raw()), phase);
  };
  Tensor partial;
  if (plan.num_split_rows() > 0) {
    const auto bytes = static_cast<std::int64_t>(sizeof(typename Op::Stat));
    partial = Tensor::empty({plan.num_slots, heads.count, bytes}, DType::kU8, device);
    run_phase(Phase::kSummarise, partial);
  }
  run_phase(Phase::kWrite, partial);
}

template <class Op>
void run(const Op& op, const Adjacency& adj, std::int64_t head_count) {
  const Csr& a = adj.csr();
  constexpr int kElementBytes = sizeof(typename Op::Element);
  const EdgeSoftmaxConfig config = choose_edge_softmax(head_count, kElementBytes);
  const Heads heads{head_count, config.tile_heads};
  const auto head_tiles = static_cast<unsigned>(config.head_tiles);
  const dim3 grid(static_cast<unsigned>(ceil_div(a.rows, kShortThreads / kWarp)), head_tiles);
  launch("edge_softmax", a.col.device(), short_rows_kernel<Op>, grid, dim3(kShortThreads), 0, op, heads,
         a.row_ptr.data<std::int64_t>(), a.rows);
  if constexpr (kElementBytes < 8)
    if (config.warps == 2) return run_pieces<Op, 2>(op, heads, head_tiles, a, rode_plan(adj));
  run_pieces<Op, 8>(op, heads, head_tiles, a, rode_plan(adj));
}

}  // namespace

void edge_softmax(const Adjacency& adj, const Tensor& score, const Tensor& y) {
  dispatch_float(score.dtype(), "edge_softmax", [&]<class T>(T) {
    using D = device_t<T>;
    run(Forward<D>{device_data<T>(score), device_data<T>(y)}, adj, score.numel() / adj.num_edges());
  });
}

void edge_softmax_backward(const Adjacency& adj, const Tensor& y, const Tensor& dy, const Tensor& ds) {
  dispatch_float(y.dtype(), "edge_softmax", [&]<class T>(T) {
    using D = device_t<T>;
    run(Backward<D>{device_data<T>(y), device_data<T>(dy), device_data<T>(ds)}, adj,
        y.numel() / adj.num_edges());
  });
}

}  // namespace rodeo::kernels::cuda
