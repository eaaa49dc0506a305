// Softmax over the edges of each row, and its gradient. A row's values are one piece of memory,
// [its edges, heads], and a lane keeps to one head: the 32 lanes of a warp read neighbouring edges and heads.
//
// A team of warps brings a row into registers, reduces by head (shuffles, then shared memory, both in a fixed
// order) and writes from registers: one read, one write. Rows of less than 32 edges are a warp's; others a
// block's, named by RoDe's pieces (ops/plan/rode_plan.h): a row that fits the registers of a block belongs to
// the block of its first piece. Longer rows take two launches, so that a hub is spread over the whole GPU:
// every piece leaves its statistic in a workspace; then every piece combines those of its row, all in the
// same order, reads its edges again and writes. No atomics: results are reproducible.
#include <cmath>

#include "ops/cuda/device/pack.cuh"
#include "ops/cuda/device/tensor_data.cuh"
#include "ops/cuda/rode/rode_view.cuh"
#include "ops/kernels/attention.h"

namespace rodeo::kernels::cuda {
namespace {

/// f(k) for k in [0, count) and, up to the end of a batch, beyond. Unrolled: items are registers.
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

/// y from s. The statistic of a set of edges: the maximum and the sum of exp(s - maximum).
template <class T>
struct Forward {
  using Value = Accumulator<T>;
  using Item = T;
  struct Stat {
    Value top, sum;
  };
  static constexpr int kResident = 768;  // threads of an SM: what the registers of 32 items leave room for
  const T* score;
  T* y;

  __device__ void move(std::int64_t offset) { score += offset, y += offset; }
  __device__ Item load() const { return *score; }
  static __device__ Item neutral() { return static_cast<T>(-INFINITY); }
  static __device__ Stat identity() { return {static_cast<Value>(-INFINITY), Value(0)}; }
  /// What is subtracted from scores: -inf - -inf would be NaN.
  static __device__ Value shift(Value top) { return top == static_cast<Value>(-INFINITY) ? Value(0) : top; }
  static __device__ Stat combine(const Stat& a, const Stat& b) {
    const bool a_first = a.top >= b.top;  // never NaN: fmax passes them over, and the sum has them
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
  /// Once a row: the sum becomes its inverse, 0 where all scores are -inf.
  static __device__ Stat finished(const Stat& stat) {
    return {shift(stat.top), stat.sum == 0 ? Value(0) : Value(1) / stat.sum};
  }
  __device__ void write(const Item& item, const Stat& stat) const {
    *y = static_cast<T>(exp(widen(item) - stat.top) * stat.sum);
  }
};

/// ds from y and dy. The statistic: the sum of y dy.
template <class T>
struct Backward {
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

/// Heads are cut into equal tiles (blockIdx.y) of at most a warp's lanes.
struct Heads {
  std::int64_t count;
  int width;  // of a tile
  static Heads of(std::int64_t count) {
    return {count, static_cast<int>(ceil_div(count, ceil_div(count, kWarp)))};
  }
  std::int64_t tiles() const { return ceil_div(count, width); }
};

template <class Op, int kWarps, int kItems>
struct Team {
  using Item = typename Op::Item;
  using Stat = typename Op::Stat;

  const Op& op;
  const std::int64_t heads;
  const int width, lane = threadIdx.x % kWarp, warp = kWarps == 1 ? 0 : threadIdx.x / kWarp;
  const int warp_groups = kWarp / width;  // edges side by side in a warp; lanes left over are idle
  const int groups = kWarps * warp_groups;
  const int group = warp * warp_groups + lane / width;
  const std::int64_t head = static_cast<std::int64_t>(blockIdx.y) * width + lane % width;
  const bool active = lane < warp_groups * width && head < heads;
  Item item[kItems];

  __device__ Team(const Op& o, const Heads& h) : op(o), heads(h.count), width(h.width) {}

  /// Edges that fit the registers.
  __device__ int capacity() const { return kItems * groups; }
  /// Items of the team's first group, and of this lane, in the chunk of at most capacity() edges at `begin`.
  __device__ int steps(std::int64_t begin, std::int64_t end) const { return items_of(end - begin); }
  __device__ int own_steps(std::int64_t begin, std::int64_t end) const {
    return active ? items_of(end - begin - group) : 0;
  }
  __device__ int items_of(std::int64_t edges) const {
    return edges >= capacity() ? kItems : edges <= 0 ? 0 : (static_cast<int>(edges) + groups - 1) / groups;
  }
  /// The arrays from this lane's first value of the chunk. They move on from item to item: offsets from the
  /// first value would be kept from loads to writes, and there are no registers for them.
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
  /// This lane's share of edges [begin, end); the last capacity() of them stay in registers.
  __device__ Stat share(std::int64_t begin, std::int64_t end) {
    Stat stat = Op::identity();
    for (; begin < end; begin += capacity()) {
      load(begin, end);
      stat = Op::combine(stat, Op::summary(item, steps(begin, end)));
    }
    return stat;
  }
  /// This lane's share of the statistics [slots, heads] that the pieces of a row left.
  __device__ Stat share_of(const Stat* partial, std::int64_t first, std::int64_t last) const {
    Stat stat = Op::identity();
    for (std::int64_t slot = first + group; active && slot < last; slot += groups)
      stat = Op::combine(stat, partial[slot * heads + head]);
    return stat;
  }
  /// The sum of all shares of a lane's head, in every lane. All threads of the team call it, once.
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

// Rows without a block part. grid (rows / warps of a block, head tiles), block kShortThreads.
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

enum class Phase { kSummarise, kWrite };  // of rows that do not fit; others are all done in kWrite

// grid (pieces, head tiles), block kWarps warps.
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
void run_pieces(const Op& op, const Heads& heads, const Csr& a, const RodePlan& plan) {
  constexpr int kItems = sizeof(typename Op::Value) == 8 ? 16 : 32;
  const Device device = a.col.device();
  const dim3 grid(static_cast<unsigned>(plan.num_pieces()), static_cast<unsigned>(heads.tiles()));
  const auto with = [&](Phase phase, const Tensor& partial) {
    launch("edge_softmax", device, pieces_kernel<Op, kWarps, kItems>, grid, dim3(kWarps * kWarp), 0, op,
           heads, RodeView(plan), a.row_ptr.data<std::int64_t>(),
           static_cast<typename Op::Stat*>(partial.raw()), phase);
  };
  Tensor partial;
  if (plan.num_split_rows() > 0) {
    const auto bytes = static_cast<std::int64_t>(sizeof(typename Op::Stat));
    partial = Tensor::empty({plan.num_slots, heads.count, bytes}, DType::kU8, device);
    with(Phase::kSummarise, partial);
  }
  with(Phase::kWrite, partial);
}

template <class Op>
void run(const Op& op, const Adjacency& adj, std::int64_t head_count) {
  const Csr& a = adj.csr();
  const Heads heads = Heads::of(head_count);
  const dim3 grid(static_cast<unsigned>(ceil_div(a.rows, kShortThreads / kWarp)),
                  static_cast<unsigned>(heads.tiles()));
  launch("edge_softmax", a.col.device(), short_rows_kernel<Op>, grid, dim3(kShortThreads), 0, op, heads,
         a.row_ptr.data<std::int64_t>(), a.rows);
  // With few heads the values of a piece are few.
  if (heads.width < 4)
    run_pieces<Op, 2>(op, heads, a, rode_plan(adj));
  else
    run_pieces<Op, 8>(op, heads, a, rode_plan(adj));
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
