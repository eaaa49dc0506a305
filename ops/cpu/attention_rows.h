/// Loops that dot-product attention and GATv2 share: scores of an edge are a part, `Scores`. One exists for
/// each thread. It has
///   row(i), at(j, e, to)          scores [heads] of edge e from j to the row i of the last call
///   prefetch_row(i), prefetch_col(j)
#pragma once

#include <limits>
#include <type_traits>

#include "ops/cpu/attention_mask.h"
#include "ops/cpu/dot.h"
#include "ops/plan/rode_plan.h"

namespace rodeo::kernels::cpu {

template <class T>
T* data_or_null(const Tensor& tensor) {
  return tensor.defined() ? tensor.data<T>() : nullptr;
}

/// The sums of one row. Long rows are summed in pieces, so that rounding errors do not grow with the row
/// length.
template <class Sum>
class RowSums {
 public:
  explicit RowSums(std::int64_t n) : piece_(static_cast<std::size_t>(n)), total_(piece_) {}
  void begin_row() { std::fill(total_.begin(), total_.end(), Sum(0)); }
  Sum* piece() { return piece_.data(); }
  const Sum* total() const { return total_.data(); }
  /// f(e) for all edges; it adds to piece().
  template <class F>
  void for_each_edge(std::int64_t first, std::int64_t last, F&& f) {
    for (std::int64_t begin = first; begin < last; begin += RodePlan::kSplit) {
      const std::int64_t end = std::min(last, begin + RodePlan::kSplit);
      std::fill(piece_.begin(), piece_.end(), Sum(0));
      for (std::int64_t e = begin; e < end; ++e) f(e);
      for (std::size_t j = 0; j < piece_.size(); ++j) total_[j] += piece_[j];
    }
  }

 private:
  std::vector<Sum> piece_, total_;
};

/// x + edge in the accumulator type; x itself where nothing is to be done. edge may be null.
template <class T>
class WideRow {
 public:
  explicit WideRow(std::int64_t n) : space_(static_cast<std::size_t>(n)) {}
  const Accumulator<T>* operator()(const T* x, const T* edge) {
    if constexpr (std::is_same_v<T, Accumulator<T>>)
      if (!edge) return x;
    const auto n = static_cast<std::int64_t>(space_.size());
    Accumulator<T>* to = space_.data();
    if (edge)
      for (std::int64_t j = 0; j < n; ++j) to[j] = load(x[j]) + load(edge[j]);
    else
      for (std::int64_t j = 0; j < n; ++j) to[j] = load(x[j]);
    return to;
  }

 private:
  std::vector<Accumulator<T>> space_;
};

template <class Sum>
void add_scaled(Sum* to, Sum factor, const Sum* x, std::int64_t n) {
  for (std::int64_t j = 0; j < n; ++j) to[j] = multiply_add(factor, x[j], to[j]);
}

/// Rows are cut into this many parts at most, for any number of threads: sums over all rows have a fixed
/// order.
constexpr std::int64_t kRowParts = 1024;

/// In each thread body = make(), then body(row, part) for rows in ascending order within a part.
template <class Make>
void for_each_row_of_parts(const Csr& a, std::int64_t work, Make&& make) {
  const std::int64_t parts = std::min(a.rows, kRowParts);
#pragma omp parallel if (a.col.numel() * work > kSerial)
  {
    auto body = make();
#pragma omp for schedule(dynamic)
    for (std::int64_t part = 0; part < parts; ++part)
      for (std::int64_t row = a.rows * part / parts; row < a.rows * (part + 1) / parts; ++row)
        body(row, part);
  }
}

/// y = sum of softmax(scores) (v + edge); edge and lse may be null.
template <class T, class Scores>
void attend(const Csr& a, const Tensor& y, const T* v, const T* edge, const Tensor& lse,
            const AttentionOptions& options, const Scores& prototype) {
  using Sum = Accumulator<T>;
  const std::int64_t heads = y.dim(1), m = y.dim(2), n = heads * m, edges = a.col.numel();
  const auto* row_ptr = a.row_ptr.data<std::int64_t>();
  const auto* col = a.col.data<std::int32_t>();
  T* out = y.data<T>();
  Sum* log_sum = data_or_null<Sum>(lse);
  const Sum kept = static_cast<Sum>(1 / (1 - options.dropout));
  for_each_row_of_parts(a, n, [&] {
    return [=, scores = prototype, mask = EdgeMask(options), sums = RowSums<Sum>(n), wide = WideRow<T>(n),
            score = std::vector<Sum>(), top = std::vector<Sum>(),
            weight = std::vector<double>()](std::int64_t i, std::int64_t) mutable {
      const std::int64_t first = row_ptr[i], last = row_ptr[i + 1];
      score.resize(static_cast<std::size_t>((last - first) * heads));
      top.assign(static_cast<std::size_t>(heads), -INFINITY);
      weight.assign(static_cast<std::size_t>(heads), 0);
      scores.row(i);
      for (std::int64_t e = first; e < last; ++e) {
        if (e + kAhead < edges) scores.prefetch_col(col[e + kAhead]);
        Sum* of_edge = score.data() + (e - first) * heads;
        scores.at(col[e], e, of_edge);
        for (std::int64_t h = 0; h < heads; ++h) top[h] = std::max(top[h], of_edge[h]);
      }
      sums.begin_row();
      sums.for_each_edge(first, last, [&](std::int64_t e) {
        if (e + kAhead < edges) prefetch(v + col[e + kAhead] * n, n);
        const Sum* x = wide(v + col[e] * n, edge ? edge + e * n : nullptr);
        mask.begin_edge(i, col[e]);
        for (std::int64_t h = 0; h < heads; ++h) {
          // All scores are -inf: -inf - -inf would be NaN.
          const Sum s = score[(e - first) * heads + h], w = s == -INFINITY ? Sum(0) : std::exp(s - top[h]);
          weight[h] += w;
          add_scaled(sums.piece() + h * m, mask.keeps(h) ? w : Sum(0), x + h * m, m);
        }
      });
      for (std::int64_t h = 0; h < heads; ++h) {
        const Sum factor = weight[h] == 0 ? Sum(0) : static_cast<Sum>(1 / weight[h]) * kept;
        for (std::int64_t c = h * m; c < (h + 1) * m; ++c) out[i * n + c] = T(sums.total()[c] * factor);
        if (log_sum)
          log_sum[i * heads + h] = weight[h] == 0 ? std::numeric_limits<Sum>::max()
                                                  : static_cast<Sum>(top[h] + std::log(weight[h]));
      }
    };
  });
}

/// <dy, y> of each row and head, and what else the gradients of all edges read.
template <class T>
struct AttentionGradientInputs {
  using Sum = Accumulator<T>;
  AttentionGradientInputs(const Tensor& y, const Tensor& log_sum, const Tensor& seed, const T* values,
                          const T* edge_values)
      : heads(y.dim(1)),
        m(y.dim(2)),
        v(values),
        edge(edge_values),
        dy(seed.data<T>()),
        lse(log_sum.data<Sum>()),
        term(static_cast<std::size_t>(y.dim(0) * heads)) {
    const T* of = y.data<T>();
    for_each_row(y.dim(0) * heads, m, [&](std::int64_t i) {
      term[static_cast<std::size_t>(i)] = inner_product(dy + i * m, of + i * m, m);
    });
  }
  std::int64_t heads, m;
  const T *v, *edge, *dy;
  const Sum* lse;
  std::vector<Sum> term;
};

/// The gradient of the scores, one edge at a time, in one thread.
template <class T, class Scores>
struct EdgeGradient {
  using Sum = Accumulator<T>;
  Scores scores;
  EdgeMask mask;
  Sum kept;
  WideRow<T> wide_v, wide_dy;
  std::vector<Sum> weight, ds;  // [heads]: the weight with its dropout, and the score's gradient
  const Sum* dy = nullptr;      // [heads, m], of the row

  EdgeGradient(const AttentionGradientInputs<T>& in, const Scores& prototype, const AttentionOptions& options)
      : scores(prototype),
        mask(options),
        kept(static_cast<Sum>(1 / (1 - options.dropout))),
        wide_v(in.heads * in.m),
        wide_dy(in.heads * in.m),
        weight(static_cast<std::size_t>(in.heads)),
        ds(weight) {}

  void at(const AttentionGradientInputs<T>& in, std::int64_t i, std::int64_t j, std::int64_t e) {
    const std::int64_t heads = in.heads, m = in.m, n = heads * m;
    scores.row(i);
    scores.at(j, e, ds.data());
    dy = wide_dy(in.dy + i * n, nullptr);
    const Sum* v = wide_v(in.v + j * n, in.edge ? in.edge + e * n : nullptr);
    mask.begin_edge(i, j);
    for (std::int64_t h = 0; h < heads; ++h) {
      const Sum p = std::exp(ds[h] - in.lse[i * heads + h]);
      weight[h] = mask.keeps(h) ? p * kept : Sum(0);
      ds[h] = weight[h] * inner_product(dy + h * m, v + h * m, m) - p * in.term[i * heads + h];
    }
  }
};

/// add(edge gradient, i, j, e, piece) for the edges of each row of `a`, then store(row, sums [width], part).
/// With edge_ids, `a` is the transpose. e is the position in the graph itself.
template <class T, class Scores, class Add, class Store>
void for_each_edge_gradient(const Csr& a, bool transposed, const Tensor& edge_ids,
                            const AttentionGradientInputs<T>& in, const Scores& prototype,
                            const AttentionOptions& options, std::int64_t width, const Add& add,
                            const Store& store) {
  using Sum = Accumulator<T>;
  const std::int64_t edges = a.col.numel(), n = in.heads * in.m;
  const auto* row_ptr = a.row_ptr.data<std::int64_t>();
  const auto* col = a.col.data<std::int32_t>();
  const auto* ids = data_or_null<std::int64_t>(edge_ids);
  for_each_row_of_parts(a, 2 * n, [&] {
    return [&, row_ptr, col, ids, of_edge = EdgeGradient<T, Scores>(in, prototype, options),
            sums = RowSums<Sum>(width)](std::int64_t row, std::int64_t part) mutable {
      sums.begin_row();
      sums.for_each_edge(row_ptr[row], row_ptr[row + 1], [&](std::int64_t at) {
        if (at + kAhead < edges) {
          const std::int64_t next = col[at + kAhead];
          transposed ? of_edge.scores.prefetch_row(next) : of_edge.scores.prefetch_col(next);
          prefetch((transposed ? in.dy : in.v) + next * n, n);
        }
        const std::int64_t i = transposed ? col[at] : row, j = transposed ? row : col[at],
                           e = ids ? ids[at] : at;
        of_edge.at(in, i, j, e);
        add(of_edge, i, j, e, sums.piece());
      });
      store(row, sums.total(), part);
    };
  });
}

}  // namespace rodeo::kernels::cpu
