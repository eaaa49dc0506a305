// y = the softmax-weighted sum of neighbour rows, in one pass over the edges of each row (online softmax).
//
// Every group of lanes keeps the maximum score so far and sums relative to it. A batch of edges raises the
// maximum at most once; without a new maximum nothing is rescaled. The states (maximum, sums) of groups and
// pieces are merged in a fixed order.
#include "ops/cuda/attention/attention.cuh"
#include "ops/cuda/attention/short_rows.cuh"

namespace rodeo::kernels::cuda {
namespace {

template <class T>
struct ForwardArgs {
  const T* term;         // t [cols, heads]
  const T* s;            // [rows, heads]
  Accumulator<T>* stat;  // [rows, heads, 3], or null; see AttentionSaved
};

template <class Tile_>
struct Forward {
  using Tile = Tile_;
  using T = typename Tile::T;
  using Sum = typename Tile::Sum;
  using Args = ForwardArgs<T>;
  using Term = T;
  static constexpr bool kTransposed = false;
  static constexpr int kDepth =
      sizeof(T) == 4 ? 8 : 4;  // f64, and 16-bit rows of 8 elements, need more registers
  static constexpr int kBlocks = sizeof(T) == 8 ? 4 : 5;
  static constexpr Sum kLowest = std::numeric_limits<Sum>::lowest();
  static constexpr Sum kInfinity = std::numeric_limits<Sum>::infinity();

  struct alignas(16) State {
    Sum all[Tile::kVec] = {}, positive[Tile::kVec] = {};
    Sum top = kLowest;  // finite: a row of only -inf scores gets weights of 0, not NaN
    Sum weight = 0, positive_weight = 0;
    Sum padding = 0;
  };

  const Args& args;
  Sum slope, own;

  template <class Work>
  __device__ void begin(const Work& work, std::int64_t row, int) {
    own = widen(args.s[row * work.args.heads + work.head]);
  }

  static __device__ void scale(State& state, Sum factor) {
#pragma unroll
    for (int v = 0; v < Tile::kVec; ++v) state.all[v] *= factor, state.positive[v] *= factor;
    state.weight *= factor, state.positive_weight *= factor;
  }
  template <int kCount>
  __device__ void weigh(const T (&term)[kCount], int count, State& state, Sum (&score)[kCount],
                        Sum (&weight)[kCount]) const {
    Sum top = state.top;
#pragma unroll
    for (int d = 0; d < kCount; ++d) {
      score[d] = d < count ? leaky(own + widen(term[d]), slope) : -kInfinity;
      top = fmax(top, score[d]);  // fmax ignores NaN; the sums propagate it
    }
    if (top > state.top) {
      scale(state, exponential(state.top - top));
      state.top = top;
    }
#pragma unroll
    for (int d = 0; d < kCount; ++d) {
      weight[d] = exponential(score[d] - top);
      state.weight += weight[d];
      if (score[d] > 0) state.positive_weight += weight[d];
    }
  }
  static __device__ void merge(State& state, State other) {
    const Sum top = fmax(state.top, other.top);
    scale(state, exponential(state.top - top));
    scale(other, exponential(other.top - top));
#pragma unroll
    for (int v = 0; v < Tile::kVec; ++v) state.all[v] += other.all[v], state.positive[v] += other.positive[v];
    state.weight += other.weight, state.positive_weight += other.positive_weight;
    state.top = top;
  }
  static __device__ Sum factor(const State& state) {
    return state.weight == 0 ? Sum(0) : 1 / state.weight;
  }
  template <class Work>
  __device__ void write(const Work& work, std::int64_t row, Sum) const {
    if (!args.stat || !work.begins_head()) return;
    const State& state = work.state;
    const Sum inverse = factor(state);
    const std::int64_t at = row * work.args.heads + work.head;
    args.stat[at * 3] = state.top;
    args.stat[at * 3 + 1] = inverse;
    args.stat[at * 3 + 2] = state.positive_weight * inverse;
  }
};

/// Forward sums over residual rows. The number of an item is its weight, negative where its score is not
/// positive.
template <class T_, int kLoads_>
struct ForwardRows {
  using T = T_;
  using Args = ForwardArgs<T>;
  using Work = ShortRows<ForwardRows>;
  static constexpr bool kTransposed = false, kOwnRow = false;
  static constexpr int kLoads = kLoads_, kVec = 16 / sizeof(T), kNumbers = 1, kBlocks = 4;

  const Work& work;
  float all[kLoads][kVec] = {}, positive[kLoads][kVec] = {};

  __device__ explicit ForwardRows(const Work& w) : work(w) {}

  __device__ void weigh(int item, std::uint32_t row, std::uint32_t col, std::uint32_t kept) const {
    const std::int64_t heads = work.args.heads;
    const T* const term = work.own.term + col * heads + work.first_head;
    const T* const s = work.own.s + row * heads + work.first_head;
    for (int h = 0; h < work.heads; ++h)
      work.number(0, item, h) = leaky(widen(s[h]) + widen(term[h]), work.args.slope);
    work.items.kept[item] = kept;
  }
  __device__ void close(std::uint32_t row, int first, int end, int head) const {
    float top = std::numeric_limits<float>::lowest(), weight = 0, positive_weight = 0;
    for (int i = first; i < end; ++i) top = fmaxf(top, work.number(0, i, head));
    for (int i = first; i < end; ++i) {
      float& score = work.number(0, i, head);
      const float w = exponential(score - top);
      weight += w;
      if (score > 0) positive_weight += w;
      score = score > 0 ? w : -w;
    }
    const float inverse = weight == 0 ? 0.0f : 1 / weight, factor = inverse * work.args.scale;
    for (int i = first; i < end; ++i)
      work.number(0, i, head) = work.items.kept[i] >> head & 1 ? work.number(0, i, head) * factor : 0.0f;
    const int own_head = work.first_head + head;
    if (!work.own.stat || own_head * work.args.pitch < work.tile) return;  // another tile begins the head
    float* const stat = work.own.stat + (static_cast<std::int64_t>(row) * work.args.heads + own_head) * 3;
    stat[0] = top;
    stat[1] = inverse;
    stat[2] = positive_weight * inverse;
  }
  __device__ void add(int item, const typename Work::Row& x) {
#pragma unroll
    for (int p = 0; p < kLoads; ++p) {
      const float signed_weight = work.number(0, item, work.head[p]), weight = fabsf(signed_weight);
      const float of_positive = signed_weight < 0 ? 0.0f : signed_weight;
#pragma unroll
      for (int v = 0; v < kVec; ++v) {
        const float value = widen(x.part[p].value[v]);
        all[p][v] += weight * value;
        positive[p][v] += of_positive * value;
      }
    }
  }
  __device__ void finish(std::uint32_t row, int) {
    work.store(work.args.all, row, all, 1);
    if (work.args.positive) work.store(work.args.positive, row, positive, 1);
#pragma unroll
    for (int p = 0; p < kLoads; ++p)
#pragma unroll
      for (int v = 0; v < kVec; ++v) all[p][v] = positive[p][v] = 0;
  }
};

}  // namespace

void gat_attention(const Adjacency& adj, const Tensor& s, const Tensor& t, const Tensor& x,
                   const AttentionOptions& options, const Tensor& y, const AttentionSaved& saved) {
  const RodePlan* const plan = attention_plan(adj);
  dispatch_float(x.dtype(), "gat_attention", [&]<class T>(T) {
    using D = device_t<T>;
    const PaddedRows padded(x, x.dim(1), x.dim(2));
    const ForwardArgs<D> own{device_data<T>(t), device_data<T>(s),
                             saved.stat.defined() ? saved.stat.data<Accumulator<D>>() : nullptr};
    AttentionArgs<D> args = attention_args<T>(adj.csr(), plan, padded, options, y, saved.positive);
    if constexpr (sizeof(D) < 8)
      launch_short_rows<ForwardRows>("gat_attention, short rows", plan, args, own, y.device());
    launch_attention<Forward>("gat_attention", plan, args, own, y.device());
  });
}

}  // namespace rodeo::kernels::cuda
