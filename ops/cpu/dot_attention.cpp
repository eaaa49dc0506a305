#include "ops/convert.h"
#include "ops/cpu/attention_rows.h"
#include "ops/kernels/attention.h"

namespace rodeo::kernels::cpu {
namespace {

/// scale <q_i, key_j + edge_e> + bias_e
template <class T>
struct DotScores {
  using Sum = Accumulator<T>;
  const T *q, *key, *edge, *bias;
  std::int64_t heads, k, n;
  Sum scale;
  WideRow<T> wide_q, wide_key;
  const Sum *q_row = nullptr, *key_row = nullptr;  // [heads, k], of the last edge

  DotScores(const DotAttentionInputs& in, double factor)
      : q(in.q.data<T>()),
        key(in.key.data<T>()),
        edge(data_or_null<T>(in.edge)),
        bias(data_or_null<T>(in.bias)),
        heads(in.q.dim(1)),
        k(in.q.dim(2)),
        n(heads * k),
        scale(static_cast<Sum>(factor)),
        wide_q(n),
        wide_key(n) {}
  void row(std::int64_t i) { q_row = wide_q(q + i * n, nullptr); }
  void at(std::int64_t j, std::int64_t e, Sum* to) {
    key_row = wide_key(key + j * n, edge ? edge + e * n : nullptr);
    for (std::int64_t h = 0; h < heads; ++h) {
      to[h] = scale * inner_product(q_row + h * k, key_row + h * k, k);
      if (bias) to[h] += load(bias[e * heads + h]);
    }
  }
  void prefetch_row(std::int64_t i) const { prefetch(q + i * n, n); }
  void prefetch_col(std::int64_t j) const { prefetch(key + j * n, n); }
};

}  // namespace

void dot_attention(const Adjacency& adj, const DotAttentionInputs& in, double scale,
                   const AttentionOptions& options, const Tensor& y, const Tensor& lse) {
  dispatch_float(y.dtype(), "dot_attention", [&]<class T>(T) {
    attend(adj.csr(), y, in.v.data<T>(), data_or_null<T>(in.edge), lse, options, DotScores<T>(in, scale));
  });
}

// With p the weights before dropout, w after it, and ds = w <dy_i, v_j> - p <dy_i, y_i>:
//   dq_i = scale sum ds key_j,  dkey_j = scale sum ds q_i,  dv_j = sum w dy_i,
//   dbias_e = ds,  dedge_e = scale ds q_i + w dy_i
void dot_attention_backward(const Adjacency& adj, const DotAttentionInputs& in, double scale,
                            const AttentionOptions& options, const Tensor& y, const Tensor& lse,
                            const Tensor& dy, const DotAttentionGradients& gradients) {
  dispatch_float(y.dtype(), "dot_attention", [&]<class T>(T) {
    using Sum = Accumulator<T>;
    using Edge = EdgeGradient<T, DotScores<T>>;
    const DotScores<T> scores(in, scale);
    const AttentionGradientInputs<T> inputs(y, lse, dy, in.v.data<T>(), scores.edge);
    const std::int64_t heads = scores.heads, k = scores.k, n = scores.n, m = y.dim(2);
    T *dq = gradients.dq.data<T>(), *dkey = gradients.dkey.data<T>(), *dv = gradients.dv.data<T>();
    T *dbias = data_or_null<T>(gradients.dbias), *dedge = data_or_null<T>(gradients.dedge);
    for_each_edge_gradient<T>(
        adj.csr(), false, {}, inputs, scores, options, n,
        [=](const Edge& at, std::int64_t, std::int64_t, std::int64_t e, Sum* sums) {
          for (std::int64_t h = 0; h < heads; ++h) {
            const Sum ds = at.ds[h] * at.scores.scale;
            add_scaled(sums + h * k, ds, at.scores.key_row + h * k, k);
            if (dbias) dbias[e * heads + h] = T(at.ds[h]);
            if (!dedge) continue;
            for (std::int64_t c = h * k; c < (h + 1) * k; ++c)
              dedge[e * n + c] = T(ds * at.scores.q_row[c] + at.weight[h] * at.dy[c]);
          }
        },
        [=](std::int64_t i, const Sum* sums, std::int64_t) {
          for (std::int64_t c = 0; c < n; ++c) dq[i * n + c] = T(sums[c]);
        });
    const bool by_edge = in.bias.defined() || in.edge.defined();
    const Transposed reverse = by_edge ? transpose(adj) : Transposed{transpose_pattern(adj), {}};
    for_each_edge_gradient<T>(
        reverse.adj.csr(), true, reverse.edge_ids, inputs, scores, options, n + heads * m,
        [=](const Edge& at, std::int64_t, std::int64_t, std::int64_t, Sum* sums) {
          for (std::int64_t h = 0; h < heads; ++h) {
            add_scaled(sums + h * k, at.ds[h] * at.scores.scale, at.scores.q_row + h * k, k);
            add_scaled(sums + n + h * m, at.weight[h], at.dy + h * m, m);
          }
        },
        [=](std::int64_t j, const Sum* sums, std::int64_t) {
          for (std::int64_t c = 0; c < n; ++c) dkey[j * n + c] = T(sums[c]);
          for (std::int64_t c = 0; c < heads * m; ++c) dv[j * heads * m + c] = T(sums[n + c]);
        });
  });
}

}  // namespace rodeo::kernels::cpu
