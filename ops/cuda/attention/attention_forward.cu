// y = the softmax-weighted sum of neighbour rows, in one pass over the edges of each row (online softmax).
//
// Every group of lanes keeps the maximum score so far and sums relative to it. A batch of edges raises the
// maximum at most once; without a new maximum nothing is rescaled. The states (maximum, sums) of groups and
// pieces are merged in a fixed order.
#include "ops/cuda/attention/attention.cuh"

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

}  // namespace

void gat_attention(const Adjacency& adj, const Tensor& s, const Tensor& t, const Tensor& x,
                   const AttentionOptions& options, const Tensor& y, const AttentionSaved& saved) {
  const RodePlan* const plan = attention_plan(adj);
  dispatch_float(x.dtype(), "gat_attention", [&]<class T>(T) {
    using D = device_t<T>;
    const PaddedRows padded(x, x.dim(1), x.dim(2));
    const ForwardArgs<D> own{device_data<T>(t), device_data<T>(s),
                             saved.stat.defined() ? saved.stat.data<Accumulator<D>>() : nullptr};
    launch_attention<Forward>("gat_attention", plan,
                              attention_args<T>(adj.csr(), plan, padded, options, y, saved.positive), own,
                              y.device());
  });
}

}  // namespace rodeo::kernels::cuda
