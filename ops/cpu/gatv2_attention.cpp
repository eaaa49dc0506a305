#include "ops/convert.h"
#include "ops/cpu/attention_rows.h"
#include "ops/kernels/attention.h"

namespace rodeo::kernels::cpu {
namespace {

/// <a, LeakyReLU(l_i + r_j + edge_e)>
template <class T>
struct Gatv2Scores {
  using Sum = Accumulator<T>;
  const T *l, *r, *edge;
  const Sum* a;
  std::int64_t heads, k, n;
  Sum slope;
  WideRow<T> wide_l, wide_r;
  const Sum *l_row = nullptr, *r_row = nullptr;  // [heads, k], of the last edge

  Gatv2Scores(const Gatv2Inputs& in, double negative_slope)
      : l(in.l.data<T>()),
        r(in.r.data<T>()),
        edge(data_or_null<T>(in.edge)),
        a(in.a.data<Sum>()),
        heads(in.l.dim(1)),
        k(in.l.dim(2)),
        n(heads * k),
        slope(static_cast<Sum>(negative_slope)),
        wide_l(n),
        wide_r(n) {}
  void row(std::int64_t i) { l_row = wide_l(l + i * n, nullptr); }
  void at(std::int64_t j, std::int64_t e, Sum* to) {
    r_row = wide_r(r + j * n, edge ? edge + e * n : nullptr);
    for (std::int64_t h = 0; h < heads; ++h) {
      Sum sum = 0;
#pragma omp simd simdlen(8) reduction(+ : sum)
      for (std::int64_t c = h * k; c < (h + 1) * k; ++c)
        sum = multiply_add(a[c], leaky(l_row[c] + r_row[c], slope), sum);
      to[h] = sum;
    }
  }
  void prefetch_row(std::int64_t i) const {
    prefetch(l + i * n, n);
  }
  void prefetch_col(std::int64_t j) const {
    prefetch(r + j * n, n);
  }
};

}  // namespace

void gatv2_attention(const Adjacency& adj, const Gatv2Inputs& in, const AttentionOptions& options,
                     const Tensor& y, const Tensor& lse) {
  dispatch_float(y.dtype(), "gatv2_attention", [&]<class T>(T) {
    attend<T>(adj.csr(), y, in.r.data<T>(), nullptr, lse, options,
              Gatv2Scores<T>(in, options.negative_slope));
  });
}

// With ds and w as in dot_attention.cpp, z = l_i + r_j + edge_e and g = ds a LeakyReLU'(z):
//   dl_i = sum g,  dr_j = sum (g + w dy_i),  dedge_e = g,  da = sum over all edges of ds LeakyReLU(z)
void gatv2_attention_backward(const Adjacency& adj, const Gatv2Inputs& in, const AttentionOptions& options,
                              const Tensor& y, const Tensor& lse, const Tensor& dy,
                              const Gatv2Gradients& gradients) {
  dispatch_float(y.dtype(), "gatv2_attention", [&]<class T>(T) {
    using Sum = Accumulator<T>;
    using Edge = EdgeGradient<T, Gatv2Scores<T>>;
    const Gatv2Scores<T> scores(in, options.negative_slope);
    const AttentionGradientInputs<T> inputs(y, lse, dy, scores.r, nullptr);
    const std::int64_t heads = scores.heads, k = scores.k, n = scores.n;
    const Sum slope = scores.slope, *a = scores.a;
    T *dl = gradients.dl.data<T>(), *dr = gradients.dr.data<T>(), *dedge = data_or_null<T>(gradients.dedge);
    std::vector<double> da_parts(static_cast<std::size_t>(kRowParts * n));
    double* parts = da_parts.data();
    for_each_edge_gradient<T>(
        adj.csr(), false, {}, inputs, scores, options, 2 * n,
        [=](const Edge& at, std::int64_t, std::int64_t, std::int64_t e, Sum* sums) {
          const Sum *l = at.scores.l_row, *r = at.scores.r_row, *factor = a;
          const Sum below = slope;  // a load of its own in each element would be a branch
          for (std::int64_t h = 0; h < heads; ++h) {
            const Sum ds = at.ds[h];
#pragma omp simd simdlen(8)
            for (std::int64_t c = h * k; c < (h + 1) * k; ++c) {
              const Sum z = l[c] + r[c], lead = z > 0 ? Sum(1) : below;
              sums[c] += ds * factor[c] * lead;
              sums[n + c] += ds * lead * z;
            }
            if (!dedge) continue;
            for (std::int64_t c = h * k; c < (h + 1) * k; ++c) {
              const Sum z = l[c] + r[c];
              dedge[e * n + c] = T(ds * a[c] * (z > 0 ? Sum(1) : slope));
            }
          }
        },
        [=](std::int64_t i, const Sum* sums, std::int64_t part) {
          for (std::int64_t c = 0; c < n; ++c) {
            dl[i * n + c] = T(sums[c]);
            parts[part * n + c] += sums[n + c];
          }
        });
    Sum* da = gradients.da.data<Sum>();
    for_each_row(n, kRowParts, [=](std::int64_t c) {
      double sum = 0;
      for (std::int64_t part = 0; part < kRowParts; ++part) sum += parts[part * n + c];
      da[c] = static_cast<Sum>(sum);
    });
    const Transposed reverse = in.edge.defined() ? transpose(adj) : Transposed{transpose_pattern(adj), {}};
    for_each_edge_gradient<T>(
        reverse.adj.csr(), true, reverse.edge_ids, inputs, scores, options, n,
        [=](const Edge& at, std::int64_t, std::int64_t, std::int64_t, Sum* sums) {
          const Sum *l = at.scores.l_row, *r = at.scores.r_row, *dy = at.dy, *factor = a;
          const Sum below = slope;
          for (std::int64_t h = 0; h < heads; ++h) {
            const Sum ds = at.ds[h], weight = at.weight[h];
#pragma omp simd simdlen(8)
            for (std::int64_t c = h * k; c < (h + 1) * k; ++c) {
              const Sum z = l[c] + r[c];
              sums[c] += ds * factor[c] * (z > 0 ? Sum(1) : below) + weight * dy[c];
            }
          }
        },
        [=](std::int64_t j, const Sum* sums, std::int64_t) {
          for (std::int64_t c = 0; c < n; ++c) dr[j * n + c] = T(sums[c]);
        });
  });
}

}  // namespace rodeo::kernels::cpu
