#include <cmath>
#include <limits>
#include <vector>

#include "ops/cpu/attention_mask.h"
#include "ops/kernels/attention.h"
#include "ops/plan/rode_plan.h"

namespace rodeo::kernels::cpu {
namespace {

using Mask = EdgeMask;

/// What an edge reads of its (row, head) in backward.
template <class Sum>
struct RowTerm {
  Sum s, top, inverse, dot;
};

/// Accumulators of one row in one thread: two rows of X, and two numbers for each head.
template <class Sum>
struct Sums {
  std::int64_t heads, k;
  std::vector<Sum> all, positive;          // [heads, k], of a piece
  std::vector<Sum> row_all, row_positive;  // [heads, k]
  std::vector<double> weight, weight_positive;
  std::vector<Sum> top;

  Sums(std::int64_t h, std::int64_t width)
      : heads(h),
        k(width),
        all(size(h * k)),
        positive(size(h * k)),
        row_all(size(h * k)),
        row_positive(size(h * k)),
        weight(size(h)),
        weight_positive(size(h)),
        top(size(h)) {}
  static std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }

  void begin_row() {
    for (auto* sum : {&all, &positive, &row_all, &row_positive}) std::fill(sum->begin(), sum->end(), Sum(0));
    for (auto* sum : {&weight, &weight_positive}) std::fill(sum->begin(), sum->end(), 0.0);
    std::fill(top.begin(), top.end(), std::numeric_limits<Sum>::lowest());
  }
  template <class T>
  void add(std::int64_t h, Sum factor, bool is_positive, const T* x) {
    Sum* to = all.data() + h * k;
    for (std::int64_t j = 0; j < k; ++j) to[j] += factor * load(x[j]);
    if (!is_positive) return;
    to = positive.data() + h * k;
    for (std::int64_t j = 0; j < k; ++j) to[j] += factor * load(x[j]);
  }
  /// f(e) for all edges. Long rows are summed in pieces, so that rounding errors do not grow with the row
  /// length.
  template <class F>
  void for_each_edge(std::int64_t first, std::int64_t last, F&& f) {
    for (std::int64_t begin = first; begin < last; begin += RodePlan::kSplit) {
      const std::int64_t end = std::min(last, begin + RodePlan::kSplit);
      for (std::int64_t e = begin; e < end; ++e) f(e);
      for (std::size_t j = 0; j < all.size(); ++j) {
        row_all[j] += all[j], row_positive[j] += positive[j];
        all[j] = positive[j] = 0;
      }
    }
  }
};

/// f(row, sums, mask) for every row.
template <class Sum, class F>
void for_each_attending_row(const Csr& a, std::int64_t heads, std::int64_t k, const AttentionOptions& options,
                            F&& f) {
#pragma omp parallel if (a.col.numel() * heads * k > kSerial)
  {
    Sums<Sum> sums(heads, k);
    Mask mask(options);
#pragma omp for schedule(dynamic, 64)
    for (std::int64_t row = 0; row < a.rows; ++row) {
      sums.begin_row();
      f(row, sums, mask);
    }
  }
}

template <class T>
Accumulator<T> dot(const T* a, const T* b, std::int64_t k) {
  Accumulator<T> sum = 0;
  for (std::int64_t j = 0; j < k; ++j) sum += load(a[j]) * load(b[j]);
  return sum;
}

}  // namespace

void gat_attention(const Adjacency& adj, const Tensor& s, const Tensor& t, const Tensor& x,
                   const AttentionOptions& options, const Tensor& y, const AttentionSaved& saved) {
  dispatch_float(x.dtype(), "gat_attention", [&]<class T>(T) {
    using Sum = Accumulator<T>;
    const Csr& a = adj.csr();
    const std::int64_t heads = x.dim(1), k = x.dim(2), n = heads * k, edges = a.col.numel();
    const auto* row_ptr = a.row_ptr.data<std::int64_t>();
    const auto* col = a.col.data<std::int32_t>();
    const T *sp = s.data<T>(), *tp = t.data<T>(), *xp = x.data<T>();
    T *yp = y.data<T>(), *positive = saved.positive.defined() ? saved.positive.data<T>() : nullptr;
    Sum* stat = saved.stat.defined() ? saved.stat.data<Sum>() : nullptr;
    const Sum slope = static_cast<Sum>(options.negative_slope);
    const Sum scale = static_cast<Sum>(1 / (1 - options.dropout));
    for_each_attending_row<Sum>(a, heads, k, options, [=](std::int64_t row, Sums<Sum>& sums, Mask& mask) {
      const std::int64_t first = row_ptr[row], last = row_ptr[row + 1];
      const auto score = [=](std::int64_t e, std::int64_t h) {
        return leaky(load(sp[row * heads + h]) + load(tp[col[e] * heads + h]), slope);
      };
      for (std::int64_t e = first; e < last; ++e) {
        if (e + kAhead < edges) prefetch(tp + col[e + kAhead] * heads, heads);
        for (std::int64_t h = 0; h < heads; ++h) sums.top[h] = std::max(sums.top[h], score(e, h));
      }
      sums.for_each_edge(first, last, [&](std::int64_t e) {
        if (e + kAhead < edges) prefetch(xp + col[e + kAhead] * n, n);
        mask.begin_edge(row, col[e]);
        for (std::int64_t h = 0; h < heads; ++h) {
          const Sum value = score(e, h), weight = std::exp(value - sums.top[h]);
          sums.weight[h] += weight;
          if (value > 0) sums.weight_positive[h] += weight;
          sums.add(h, mask.keeps(h) ? weight : Sum(0), value > 0, xp + col[e] * n + h * k);
        }
      });
      for (std::int64_t h = 0; h < heads; ++h) {
        const double weight = sums.weight[h];
        const Sum inverse = weight == 0 ? Sum(0) : static_cast<Sum>(1 / weight);
        for (std::int64_t j = h * k; j < (h + 1) * k; ++j) {
          yp[row * n + j] = T(sums.row_all[j] * inverse * scale);
          if (positive) positive[row * n + j] = T(sums.row_positive[j] * inverse * scale);
        }
        if (!stat) continue;
        Sum* to = stat + (row * heads + h) * 3;
        to[0] = sums.top[h], to[1] = inverse, to[2] = static_cast<Sum>(sums.weight_positive[h]) * inverse;
      }
    });
  });
}

// With g = a (mask <dy_i, x_j> - <dy_i, y_i>) lead, where lead is 1 for positive scores and the slope for the
// others, ds_i and dt_j are the sums of g over the edges of i and of j. The inner products move out of the
// sums, so that rows of x and of dy are summed. Because a (mask <dy_i, x_j> - <dy_i, y_i>) sums to 0 over the
// edges of i, ds_i needs the edges with a positive score only.
void gat_attention_terms(const Tensor& s, const Tensor& y, const AttentionSaved& saved, const Tensor& dy,
                         double negative_slope, const Tensor& terms, const Tensor& ds) {
  dispatch_float(y.dtype(), "gat_attention", [&]<class T>(T) {
    using Sum = Accumulator<T>;
    const std::int64_t k = y.dim(2);
    const T *sp = s.data<T>(), *yp = y.data<T>(), *dyp = dy.data<T>(), *positive = saved.positive.data<T>();
    const Sum* stat = saved.stat.data<Sum>();
    auto* const term = static_cast<RowTerm<Sum>*>(terms.raw());
    T* const to = ds.data<T>();
    const Sum slope = static_cast<Sum>(negative_slope);
    for_each_row(s.numel(), k, [=](std::int64_t i) {
      const Sum inverse = stat[i * 3 + 1], share = stat[i * 3 + 2], all = dot(dyp + i * k, yp + i * k, k);
      term[i] = {load(sp[i]), stat[i * 3], inverse, all};
      to[i] = T(inverse == 0 ? Sum(0) : (1 - slope) * (dot(dyp + i * k, positive + i * k, k) - share * all));
    });
  });
}

void gat_attention_backward(const Adjacency& transposed, const Tensor& t, const Tensor& x,
                            const AttentionOptions& options, const Tensor& terms, const Tensor& dy,
                            const AttentionGradients& gradients, const AttentionVectors& vectors) {
  if (vectors.dst.defined()) {
    const Tensor dt = Tensor::empty(t.shape(), t.dtype());
    gat_attention_backward(transposed, t, x, options, terms, dy, {gradients.ds, dt, gradients.dx}, {});
    head_dot_sum(gradients.ds, x, vectors.d_dst, dt, vectors.d_src);
    head_outer(gradients.ds, vectors.dst, dt, vectors.src, gradients.dx);
    return;
  }
  dispatch_float(x.dtype(), "gat_attention", [&]<class T>(T) {
    using Sum = Accumulator<T>;
    const Csr& a = transposed.csr();
    const std::int64_t heads = x.dim(1), k = x.dim(2), n = heads * k, edges = a.col.numel();
    const auto* row_ptr = a.row_ptr.data<std::int64_t>();
    const auto* col = a.col.data<std::int32_t>();
    const T *tp = t.data<T>(), *xp = x.data<T>(), *dyp = dy.data<T>();
    const auto* const term = static_cast<const RowTerm<Sum>*>(terms.raw());
    T *dt = gradients.dt.data<T>(), *dx = gradients.dx.data<T>();
    const Sum slope = static_cast<Sum>(options.negative_slope);
    const Sum scale = static_cast<Sum>(1 / (1 - options.dropout));
    for_each_attending_row<Sum>(a, heads, k, options, [=](std::int64_t j, Sums<Sum>& sums, Mask& mask) {
      sums.for_each_edge(row_ptr[j], row_ptr[j + 1], [&](std::int64_t e) {
        const std::int64_t i = col[e];
        if (e + kAhead < edges) {
          const std::int64_t next = col[e + kAhead];
          prefetch(dyp + next * n, n);
          prefetch(term + next * heads, heads);
        }
        mask.begin_edge(i, j);
        for (std::int64_t h = 0; h < heads; ++h) {
          const RowTerm<Sum>& of_row = term[i * heads + h];
          const Sum score = leaky(of_row.s + load(tp[j * heads + h]), slope);
          const Sum weight = std::exp(score - of_row.top) * of_row.inverse;
          sums.weight[h] += weight * of_row.dot * (score > 0 ? 1 : slope);
          sums.add(h, mask.keeps(h) ? weight : Sum(0), score > 0, dyp + i * n + h * k);
        }
      });
      for (std::int64_t h = 0; h < heads; ++h) {
        double sum = 0;
        for (std::int64_t c = h * k; c < (h + 1) * k; ++c) {
          const Sum all = sums.row_all[c] * scale, part = sums.row_positive[c] * scale;
          dx[j * n + c] = T(all);
          sum += load(xp[j * n + c]) * (slope * all + (1 - slope) * part);
        }
        const bool alone = row_ptr[j] == row_ptr[j + 1];  // where x may be anything
        dt[j * heads + h] = T(alone ? Sum(0) : static_cast<Sum>(sum - sums.weight[h]));
      }
    });
  });
}

}  // namespace rodeo::kernels::cpu
