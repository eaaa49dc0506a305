// Maxima, minima and their gradients on the CPU: strips of columns in registers, as in spmm.cpp. Positions of
// edges in their rows have the width of the values, so that both are compared and chosen in one vector.
#include <algorithm>
#include <limits>
#include <type_traits>

#include "ops/cpu/loops.h"
#include "ops/kernels/sparse.h"

namespace rodeo::kernels::cpu {
namespace {

/// Calls f(std::integral_constant<int, kStrip>, column) for the strips that cover [begin, end).
template <class F>
void for_each_strip(std::int64_t begin, std::int64_t end, F&& f) {
  for (; begin + 32 <= end; begin += 32) f(std::integral_constant<int, 32>{}, begin);
  for (; begin + 8 <= end; begin += 8) f(std::integral_constant<int, 8>{}, begin);
  for (; begin < end; ++begin) f(std::integral_constant<int, 1>{}, begin);
}

template <class T>
struct MinmaxOperands {
  using Value = Accumulator<T>;
  using Position = std::conditional_t<sizeof(Value) == 8, std::int64_t, std::int32_t>;
  const std::int64_t* row_ptr;
  const std::int32_t* col;
  const T *weight, *x;
  T* y;
  std::int32_t* arg;
  std::int64_t k, heads, per_head, edges;
  Value sign;

  MinmaxOperands(const Adjacency& adj, double direction, const Tensor& w, const Tensor& x_, const Tensor& y_,
                 const Tensor& arg_)
      : row_ptr(adj.csr().row_ptr.data<std::int64_t>()),
        col(adj.csr().col.data<std::int32_t>()),
        weight(w.defined() ? w.data<T>() : nullptr),
        x(x_.data<T>()),
        y(y_.data<T>()),
        arg(arg_.defined() ? arg_.data<std::int32_t>() : nullptr),
        k(x_.numel() / adj.cols()),
        heads(heads_of(w)),
        per_head(k / heads),
        edges(adj.num_edges()),
        sign(static_cast<Value>(direction)) {}

  template <int kStrip>
  void reduce_strip(std::int64_t row, std::int64_t head, std::int64_t column) const {
    const std::int64_t begin = row_ptr[row], end = row_ptr[row + 1];
    Value best[kStrip];
    Position at[kStrip];
    for (int j = 0; j < kStrip; ++j) best[j] = -std::numeric_limits<Value>::infinity(), at[j] = 0;
    for (std::int64_t e = begin; e < end; ++e) {
      const T* from = x + col[e] * k + column;
      if (e + kAhead < edges) prefetch(x + col[e + kAhead] * k + column, kStrip);
      const Value factor = weight ? sign * load(weight[e * heads + head]) : sign;
      const auto position = static_cast<Position>(e - begin);
#pragma omp simd
      for (int j = 0; j < kStrip; ++j) {
        // Not <= is greater or one of them NaN; the first NaN stays.
        const Value value = factor * load(from[j]);
        const bool take = !(value <= best[j]) & (best[j] == best[j]);
        best[j] = take ? value : best[j];
        at[j] = take ? position : at[j];
      }
    }
    const std::int64_t to = row * k + column;
#pragma omp simd
    for (int j = 0; j < kStrip; ++j) y[to + j] = T(begin == end ? Value(0) : sign * best[j]);
    if (!arg) return;
#pragma omp simd
    for (int j = 0; j < kStrip; ++j) arg[to + j] = static_cast<std::int32_t>(begin == end ? -1 : at[j]);
  }
};

template <class T>
struct MinmaxGradient {
  const std::int64_t *row_ptr, *col_ptr, *edge_ids;
  const std::int32_t *row_of, *arg;
  const T *weight, *dy;
  T* dx;
  std::int64_t k, heads, per_head, edges;

  MinmaxGradient(const Adjacency& adj, const Transposed& transposed, const Tensor& w, const Tensor& arg_,
                 const Tensor& dy_, const Tensor& dx_)
      : row_ptr(adj.csr().row_ptr.data<std::int64_t>()),
        col_ptr(transposed.adj.csr().row_ptr.data<std::int64_t>()),
        edge_ids(transposed.edge_ids.data<std::int64_t>()),
        row_of(transposed.adj.csr().col.data<std::int32_t>()),
        arg(arg_.data<std::int32_t>()),
        weight(w.defined() ? w.data<T>() : nullptr),
        dy(dy_.data<T>()),
        dx(dx_.data<T>()),
        k(dx_.numel() / adj.cols()),
        heads(heads_of(w)),
        per_head(k / heads),
        edges(adj.num_edges()) {}

  template <int kStrip>
  void sum_strip(std::int64_t c, std::int64_t head, std::int64_t column) const {
    Accumulator<T> sum[kStrip] = {};
    for (std::int64_t t = col_ptr[c]; t < col_ptr[c + 1]; ++t) {
      if (t + kAhead < edges) {
        const std::int64_t ahead = row_of[t + kAhead] * k + column;
        prefetch(arg + ahead, kStrip);
        prefetch(dy + ahead, kStrip);
      }
      const std::int64_t row = row_of[t], e = edge_ids[t], from = row * k + column;
      const auto at = static_cast<std::int32_t>(e - row_ptr[row]);
      const Accumulator<T> factor = weight ? load(weight[e * heads + head]) : Accumulator<T>(1);
#pragma omp simd
      for (int j = 0; j < kStrip; ++j) {
        const Accumulator<T> term = factor * load(dy[from + j]);  // computed always, so that vectors serve
        sum[j] += arg[from + j] == at ? term : Accumulator<T>(0);
      }
    }
#pragma omp simd
    for (int j = 0; j < kStrip; ++j) dx[c * k + column + j] = T(sum[j]);
  }
};

/// Whether a value of [begin, begin + kCount) is `wanted`.
template <int kCount>
bool has(const std::int32_t* begin, std::int32_t wanted) {
  int found = 0;
#pragma omp simd reduction(| : found)
  for (int j = 0; j < kCount; ++j) found |= begin[j] == wanted;
  return found != 0;
}

}  // namespace

void spmm_minmax(const Adjacency& adj, double sign, const Tensor& weight, const Tensor& x, const Tensor& y,
                 const Tensor& arg) {
  dispatch_float(x.dtype(), "spmm", [&]<class T>(T) {
    const MinmaxOperands<T> op(adj, sign, weight, x, y, arg);
#pragma omp parallel for schedule(dynamic, 64) if (op.edges * op.k > kSerial)
    for (std::int64_t row = 0; row < adj.rows(); ++row)
      for (std::int64_t h = 0; h < op.heads; ++h)
        for_each_strip(h * op.per_head, (h + 1) * op.per_head, [&](auto strip, std::int64_t column) {
          op.template reduce_strip<strip>(row, h, column);
        });
  });
}

void spmm_minmax_dx(const Adjacency& adj, const Transposed& transposed, const Tensor& weight,
                    const Tensor& arg, const Tensor& dy, const Tensor& dx) {
  dispatch_float(dy.dtype(), "spmm", [&]<class T>(T) {
    const MinmaxGradient<T> op(adj, transposed, weight, arg, dy, dx);
#pragma omp parallel for schedule(dynamic, 64) if (adj.num_edges() * op.k > kSerial)
    for (std::int64_t c = 0; c < adj.cols(); ++c)
      for (std::int64_t h = 0; h < op.heads; ++h)
        for_each_strip(h * op.per_head, (h + 1) * op.per_head,
                       [&](auto strip, std::int64_t column) { op.template sum_strip<strip>(c, h, column); });
  });
}

void spmm_minmax_dweight(const Adjacency& adj, const Tensor& rows, const Tensor& arg, const Tensor& x,
                         const Tensor& dy, const Tensor& dweight) {
  dispatch_float(dy.dtype(), "spmm", [&]<class T>(T) {
    const auto* row_ptr = adj.csr().row_ptr.data<std::int64_t>();
    const auto* col = adj.csr().col.data<std::int32_t>();
    const auto *row_of = rows.data<std::int32_t>(), *argp = arg.data<std::int32_t>();
    const T *xp = x.data<T>(), *dyp = dy.data<T>();
    T* out = dweight.data<T>();
    const std::int64_t heads = heads_of(dweight), k = x.numel() / adj.cols(), per_head = k / heads;
    for_each_row(adj.num_edges(), k, [=](std::int64_t e) {
      const std::int64_t row = row_of[e];
      const auto at = static_cast<std::int32_t>(e - row_ptr[row]);
      for (std::int64_t h = 0; h < heads; ++h) {
        Accumulator<T> sum = 0;
        for_each_strip(h * per_head, (h + 1) * per_head, [&](auto strip, std::int64_t column) {
          const std::int64_t here = row * k + column;
          if (!has<strip>(argp + here, at)) return;
          for (int j = 0; j < strip; ++j)
            if (argp[here + j] == at) sum += load(dyp[here + j]) * load(xp[col[e] * k + column + j]);
        });
        out[e * heads + h] = T(sum);
      }
    });
  });
}

void inverse_row_length(const Csr& a, const Tensor& out) {
  dispatch_float(out.dtype(), "spmm", [&]<class T>(T) {
    const auto* row_ptr = a.row_ptr.data<std::int64_t>();
    T* p = out.data<T>();
    for_each_element(a.rows, [=](std::int64_t i) {
      const std::int64_t length = row_ptr[i + 1] - row_ptr[i];
      p[i] = T(length > 0 ? 1 / static_cast<Accumulator<T>>(length) : Accumulator<T>(0));
    });
  });
}

}  // namespace rodeo::kernels::cpu
