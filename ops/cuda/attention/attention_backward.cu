// Gradients of fused attention in one pass over the edges of A^T. Attention weights are recomputed.
//
// D_i = <dy_i, y_i>. The gradient of the score of edge e = (i, j), before LeakyReLU, is
//   g_e = a_e lead_e (mask_e <dy_i, x_j> - D_i),   lead_e = 1 for a positive score, else the slope.
// ds_i and dt_j are the sums of g_e over the edges of i and of j. No dot product per edge is needed: x_j and
// dy_i leave the sums, and the loop that computes dx sums rows anyway:
//   dt_j = <x_j, sum of a_e mask_e lead_e dy_i> - sum of a_e lead_e D_i
//   ds_i = <dy_i, sum of a_e mask_e lead_e x_j> - D_i sum of a_e lead_e
// ds_i needs no pass over the edges. It is 0 where lead is 1 everywhere, because the weights sum to 1. So
// only edges with a positive score count, (1 - slope) times, and the forward pass saves their sums.
#include "core/cuda/warp.cuh"
#include "ops/cuda/attention/attention.cuh"
#include "ops/cuda/attention/attention_gradients.h"
#include "ops/cuda/attention/short_rows.cuh"
#include "ops/plan/attention_config.h"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = 256;

/// What an edge reads of its (row, head), in one load.
template <class Sum>
struct alignas(16) RowTerm {
  Sum s, top, inverse, dot;
};

template <class T>
struct BackwardArgs {
  const RowTerm<Accumulator<T>>* term;  // [rows, heads]
  const T* t;                           // [cols, heads]
  Accumulator<T>* sum;                  // [cols, heads]: sum of a lead D; where dt is null
  const T* x;                           // [cols, heads, k]
  T* dt;                                // [cols, heads], or null: attention_gradients() does the rest
  int head_lanes;                       // of 16 bytes, a power of two; in one column tile
};

template <class Tile_>
struct Backward {
  using Tile = Tile_;
  using T = typename Tile::T;
  using Sum = typename Tile::Sum;
  using Args = BackwardArgs<T>;
  using Term = RowTerm<Sum>;
  static constexpr bool kTransposed = true;  // the kernel runs on A^T
  static constexpr int kDepth = 4;
  static constexpr int kBlocks = sizeof(T) == 8 ? 4 : 5;

  struct alignas(16) State {
    Sum all[Tile::kVec] = {}, positive[Tile::kVec] = {};
    Sum sum = 0;
    Sum padding[3] = {};
  };

  const Args& args;
  Sum slope, own;
  Pack<T, Tile::kVec> x{};
  bool is_empty = true;

  template <class Work>
  __device__ void begin(const Work& work, std::int64_t row, int length) {
    own = widen(args.t[row * work.args.heads + work.head]);
    is_empty = length == 0;
    // Early, for most rows have few edges; an empty row has dt = 0 even where x is NaN.
    if (args.dt && work.active && !is_empty)
      x = *reinterpret_cast<const Pack<T, Tile::kVec>*>(args.x + row * work.args.stride + work.column);
  }

  template <int kCount>
  __device__ void weigh(const Term (&term)[kCount], int count, State& state, Sum (&score)[kCount],
                        Sum (&weight)[kCount]) const {
#pragma unroll
    for (int d = 0; d < kCount; ++d) {
      score[d] = leaky(own + term[d].s, slope);
      weight[d] = d < count ? exponential(score[d] - term[d].top) * term[d].inverse : 0;
      const Sum product = weight[d] * term[d].dot;
      state.sum += score[d] > 0 ? product : slope * product;
    }
  }
  static __device__ void merge(State& state, const State& other) {
#pragma unroll
    for (int v = 0; v < Tile::kVec; ++v) state.all[v] += other.all[v], state.positive[v] += other.positive[v];
    state.sum += other.sum;
  }
  static __device__ Sum factor(const State&) {
    return 1;
  }
  template <class Work>
  __device__ void write(const Work& work, std::int64_t row, Sum factor) const {
    const State& state = work.state;
    const std::int64_t at = row * work.args.heads + work.head;
    if (!args.dt) {
      if (work.begins_head()) args.sum[at] = state.sum;
      return;
    }
    Sum dot = 0;
#pragma unroll
    for (int v = 0; v < Tile::kVec; ++v)
      dot += widen(x.value[v]) * factor * (slope * state.all[v] + (1 - slope) * state.positive[v]);
    for (int offset = args.head_lanes / 2; offset > 0; offset /= 2)
      dot += __shfl_xor_sync(work.lanes_of_group(), dot, offset);
    if (work.begins_head()) args.dt[at] = static_cast<T>(dot - state.sum);
  }
};

/// dx and dt over residual rows. The numbers of an item are its weight, negative where its score is not
/// positive, and a lead D; the first of a row's own item is the sum of these.
template <class T_, int kLoads_>
struct BackwardRows {
  using T = T_;
  using Args = BackwardArgs<T>;
  using Work = ShortRows<BackwardRows>;
  static constexpr bool kTransposed = true, kOwnRow = true;
  static constexpr int kLoads = kLoads_, kVec = 16 / sizeof(T), kNumbers = 2, kBlocks = 4;

  const Work& work;
  float all[kLoads][kVec] = {}, dot[kLoads] = {};
  typename Work::Row x{};

  __device__ explicit BackwardRows(const Work& w) : work(w) {}

  __device__ void weigh(int item, std::uint32_t row, std::uint32_t col, std::uint32_t kept) const {
    const std::int64_t heads = work.args.heads;
    const RowTerm<float>* const terms = work.own.term + col * heads + work.first_head;
    const T* const t = work.own.t + row * heads + work.first_head;
    for (int h = 0; h < work.heads; ++h) {
      const RowTerm<float> term = terms[h];
      const float score = leaky(widen(t[h]) + term.s, work.args.slope);
      const float a = exponential(score - term.top) * term.inverse, weight = kept >> h & 1 ? a : 0.0f;
      work.number(0, item, h) = score > 0 ? weight : -weight;
      work.number(1, item, h) = (score > 0 ? a : work.args.slope * a) * term.dot;
    }
  }
  __device__ void close(std::uint32_t, int first, int end, int head) const {
    if (first == end) return;
    float sum = 0;
    for (int i = first + 1; i < end; ++i) sum += work.number(1, i, head);
    work.number(0, first, head) = sum;
  }
  __device__ void add(int item, const typename Work::Row& row) {
    if (work.items.col[item] & kOwnItem) {
      x = row;
      return;
    }
#pragma unroll
    for (int p = 0; p < kLoads; ++p) {
      const float signed_weight = work.number(0, item, work.head[p]), weight = fabsf(signed_weight);
      float product = 0;
#pragma unroll
      for (int v = 0; v < kVec; ++v) {
        const float value = widen(row.part[p].value[v]);
        all[p][v] += weight * value;
        product += value * widen(x.part[p].value[v]);
      }
      dot[p] += (signed_weight > 0 ? weight : work.args.slope * weight) * product;
    }
  }
  __device__ void finish(std::uint32_t row, int first) {
    work.store(work.args.all, row, all, work.args.scale);
#pragma unroll
    for (int p = 0; p < kLoads; ++p) {
      const float sum = sum_over(dot[p] * work.args.scale, work.own.head_lanes);
      if (work.column[p] % work.args.pitch == 0)
        work.own.dt[static_cast<std::int64_t>(row) * work.args.heads + work.first_head + work.head[p]] =
            static_cast<T>(first < 0 ? 0.0f : sum - work.number(0, first, work.head[p]));
      dot[p] = 0;
#pragma unroll
      for (int v = 0; v < kVec; ++v) all[p][v] = 0;
    }
  }
};

// The RowTerm and ds of every (row, head). Grid (rows * heads / (kThreads / lanes)), block kThreads; `lanes`
// threads share a head. k is a multiple of kVec.
template <class T, int kVec>
__global__ void row_terms_kernel(const T* s, const T* y, const T* positive, const T* dy,
                                 const Accumulator<T>* stat, Accumulator<T> slope, std::int64_t size,
                                 std::int64_t k, int lanes, RowTerm<Accumulator<T>>* term, T* ds) {
  using Sum = Accumulator<T>;
  using Row = Pack<T, kVec>;
  const std::int64_t at =
      (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) >> (31 - __clz(lanes));
  const int member = static_cast<int>(threadIdx.x) & (lanes - 1);
  Sum all = 0, part = 0;
  for (std::int64_t j = member * kVec; at < size && j < k; j += lanes * kVec) {
    const auto row = [&](const T* of) { return *reinterpret_cast<const Row*>(of + at * k + j); };
    const Row d = row(dy), a = row(y), p = row(positive);
#pragma unroll
    for (int v = 0; v < kVec; ++v) {
      all += widen(d.value[v]) * widen(a.value[v]);
      part += widen(d.value[v]) * widen(p.value[v]);
    }
  }
  all = sum_over(all, lanes);
  part = sum_over(part, lanes);
  if (at >= size || member > 0) return;
  const Sum inverse = stat[at * 3 + 1];
  term[at] = {static_cast<Sum>(widen(s[at])), stat[at * 3], inverse, all};
  // A row without edges has no gradient, whatever dy is.
  ds[at] = static_cast<T>(inverse == 0 ? Sum(0) : (1 - slope) * (part - stat[at * 3 + 2] * all));
}

/// Whether a head has a power of two of lanes in one column tile: they can sum over it.
bool has_one_tile(std::int64_t heads, std::int64_t k, int element_bytes) {
  const auto lanes = static_cast<unsigned>(k * element_bytes / 16);
  const AttentionTiles tiles = choose_attention_tiles(static_cast<int>(heads * k), element_bytes);
  return std::has_single_bit(lanes) && lanes <= static_cast<unsigned>(tiles.most_lanes());
}

}  // namespace

void gat_attention_terms(const Tensor& s, const Tensor& y, const AttentionSaved& saved, const Tensor& dy,
                         double negative_slope, const Tensor& terms, const Tensor& ds) {
  const std::int64_t size = s.numel(), k = y.dim(2);
  dispatch_float(y.dtype(), "gat_attention", [&]<class T>(T) {
    using D = device_t<T>;
    using Sum = Accumulator<D>;
    const auto run = [&]<int kVec>() {
      const int lanes = lanes_per_head(k, kVec);
      launch("attention terms", y.device(), row_terms_kernel<D, kVec>,
             dim3(static_cast<unsigned>(ceil_div(size, kThreads / lanes))), kThreads, 0, device_data<T>(s),
             device_data<T>(y), device_data<T>(saved.positive), device_data<T>(dy), saved.stat.data<Sum>(),
             static_cast<Sum>(negative_slope), size, k, lanes, static_cast<RowTerm<Sum>*>(terms.raw()),
             device_data<T>(ds));
    };
    if constexpr (sizeof(D) < 8) {  // f64 is a reference and has one kernel
      constexpr int kVec = 16 / sizeof(D);
      if (k % kVec == 0 && is_aligned(y) && is_aligned(dy)) return run.template operator()<kVec>();
    }
    run.template operator()<1>();
  });
}

void gat_attention_backward(const Adjacency& transposed, const Tensor& t, const Tensor& x,
                            const AttentionOptions& options, const Tensor& terms, const Tensor& dy,
                            const AttentionGradients& gradients, const AttentionVectors& vectors) {
  const Csr& a = transposed.csr();
  const RodePlan* const plan = attention_plan(transposed);
  const Device device = x.device();
  const std::int64_t heads = x.dim(1), k = x.dim(2);
  dispatch_float(x.dtype(), "gat_attention", [&]<class T>(T) {
    using D = device_t<T>;
    using Sum = Accumulator<D>;
    PaddedRows rows_of_dy(dy, heads, k);
    BackwardArgs<D> own{.term = static_cast<const RowTerm<Sum>*>(terms.raw()), .t = device_data<T>(t)};
    const auto pass = [&](const Tensor& positive) {
      AttentionArgs<D> args = attention_args<T>(a, plan, rows_of_dy, options, gradients.dx, positive);
      if constexpr (sizeof(D) < 8)
        if (own.dt)
          launch_short_rows<BackwardRows>("gat_attention_backward, short rows", plan, args, own, device);
      launch_attention<Backward>("gat_attention_backward", plan, args, own, device);
    };
    if constexpr (sizeof(D) < 8)  // f64 is a reference and has one kernel
      if (gradients.dt.defined() && rows_of_dy.pitch == k && is_aligned(x) && is_aligned(gradients.dx) &&
          has_one_tile(heads, k, sizeof(D))) {
        own.x = device_data<T>(x), own.dt = device_data<T>(gradients.dt);
        own.head_lanes = static_cast<int>(k * sizeof(D) / 16);
        return pass({});
      }
    const Tensor positive = Tensor::empty(x.shape(), x.dtype(), device);
    const Tensor sum = Tensor::empty(t.shape(), dtype_of<Sum>(), device);
    own.sum = sum.data<Sum>();
    pass(positive);
    rows_of_dy.x = {};  // frees the padded copy
    attention_gradients(a, options.negative_slope, x, {positive, sum}, gradients, vectors);
  });
}

}  // namespace rodeo::kernels::cuda
