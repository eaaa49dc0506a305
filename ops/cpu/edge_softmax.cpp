#include <cmath>
#include <vector>

#include "ops/cpu/loops.h"
#include "ops/kernels/attention.h"

namespace rodeo::kernels::cpu {
namespace {

template <class Sum>
struct Workspace {          // of a thread
  std::vector<Sum> top;     // [heads]
  std::vector<double> sum;  // [heads]
  std::vector<Sum> term;    // [edges of the row, heads]
};

/// f(first, last, workspace) for every row, where [first, last) is its part of the flat arrays [edges,
/// heads].
template <class Sum, class F>
void for_each_segment(const Csr& a, std::int64_t heads, F&& f) {
  const auto* row_ptr = a.row_ptr.data<std::int64_t>();
#pragma omp parallel if (a.col.numel() * heads > kSerial)
  {
    Workspace<Sum> work;
#pragma omp for schedule(dynamic, 64)
    for (std::int64_t row = 0; row < a.rows; ++row) {
      work.top.assign(static_cast<std::size_t>(heads), -INFINITY);
      work.sum.assign(static_cast<std::size_t>(heads), 0);
      f(row_ptr[row] * heads, row_ptr[row + 1] * heads, work);
    }
  }
}

/// f(i, head) for i in [first, last).
template <class F>
void for_each_head(std::int64_t first, std::int64_t last, std::int64_t heads, F&& f) {
  for (std::int64_t edge = first; edge < last; edge += heads)
    for (std::int64_t h = 0; h < heads; ++h) f(edge + h, h);
}

}  // namespace

void edge_softmax(const Adjacency& adj, const Tensor& score, const Tensor& y) {
  dispatch_float(score.dtype(), "edge_softmax", [&]<class T>(T) {
    using Sum = Accumulator<T>;
    const T* s = score.data<T>();
    T* out = y.data<T>();
    const std::int64_t heads = score.numel() / adj.num_edges();
    for_each_segment<Sum>(adj.csr(), heads, [=](std::int64_t first, std::int64_t last, Workspace<Sum>& w) {
      w.term.resize(static_cast<std::size_t>(last - first));
      for_each_head(first, last, heads,
                    [&](std::int64_t i, std::int64_t h) { w.top[h] = std::max(w.top[h], load(s[i])); });
      for_each_head(first, last, heads, [&](std::int64_t i, std::int64_t h) {
        // All scores are -inf: -inf - -inf would be NaN.
        const Sum x = load(s[i]), term = x == -INFINITY ? Sum(0) : std::exp(x - w.top[h]);
        w.term[i - first] = term;
        w.sum[h] += term;
      });
      for_each_head(first, last, heads, [&](std::int64_t i, std::int64_t h) {
        out[i] = T(w.sum[h] == 0 ? Sum(0) : w.term[i - first] / static_cast<Sum>(w.sum[h]));
      });
    });
  });
}

void edge_softmax_backward(const Adjacency& adj, const Tensor& y, const Tensor& dy, const Tensor& ds) {
  dispatch_float(y.dtype(), "edge_softmax", [&]<class T>(T) {
    using Sum = Accumulator<T>;
    const T *yp = y.data<T>(), *dyp = dy.data<T>();
    T* out = ds.data<T>();
    const std::int64_t heads = y.numel() / adj.num_edges();
    for_each_segment<Sum>(adj.csr(), heads, [=](std::int64_t first, std::int64_t last, Workspace<Sum>& w) {
      for_each_head(first, last, heads, [&](std::int64_t i, std::int64_t h) {
        w.sum[h] += static_cast<double>(load(yp[i])) * load(dyp[i]);
      });
      for_each_head(first, last, heads, [&](std::int64_t i, std::int64_t h) {
        out[i] = T(load(yp[i]) * (load(dyp[i]) - static_cast<Sum>(w.sum[h])));
      });
    });
  });
}

}  // namespace rodeo::kernels::cpu
