#include "ops/cpu/loops.h"
#include "ops/kernels/sparse.h"

namespace rodeo::kernels::cpu {
namespace {

constexpr std::int64_t kInterval = 512;

template <class F>
auto dispatch_index(DType dtype, F&& f) {
  return dtype == DType::kI64 ? f(std::int64_t{}) : f(std::int32_t{});
}

// The partial sum of a row that may continue outside its interval.
template <class I, class Sum>
struct Open {
  I row;
  Sum sum;
};

// Intervals of fixed length run in parallel, so that the sums do not depend on the number of threads. Rows
// inside an interval are written; partial sums of its first and last row are kept and added in order
// afterwards.
template <class I, class T, class Term>
void reduce(const I* row, std::int64_t edges, Term&& term, T* y) {
  using Sum = Accumulator<T>;
  const std::int64_t intervals = (edges + kInterval - 1) / kInterval;
  std::vector<Open<I, Sum>> open(static_cast<std::size_t>(2 * intervals));
#pragma omp parallel for if (edges > kSerial)
  for (std::int64_t i = 0; i < intervals; ++i) {
    const std::int64_t begin = i * kInterval, end = std::min(edges, begin + kInterval);
    Open<I, Sum> now{row[begin], 0}, *const first = &open[2 * i], *const last = first + 1;
    bool is_first = true;
    const auto finish = [&] {
      if (is_first)
        *first = now;
      else
        y[now.row] = T(now.sum);
      is_first = false;
    };
    for (std::int64_t e = begin; e < end; ++e) {
      if (row[e] != now.row) {
        finish();
        now = {row[e], 0};
      }
      now.sum += term(e);
    }
    *last = is_first ? Open<I, Sum>{now.row, 0} : now;
    if (is_first) *first = now;
  }
  Open<I, Sum> now = open.front();
  for (std::size_t i = 1; i < open.size(); ++i) {
    if (open[i].row != now.row) {
      y[now.row] = T(now.sum);
      now = open[i];
    } else {
      now.sum += open[i].sum;
    }
  }
  y[now.row] = T(now.sum);
}

}  // namespace

void segment_sum(const Tensor& row, const Tensor& col, const Tensor& weight, const Tensor& x,
                 const Tensor& y) {
  y.fill(0);
  dispatch_float(x.dtype(), "segment_sum", [&]<class T>(T) {
    dispatch_index(row.dtype(), [&]<class I>(I) {
      const I *r = row.data<I>(), *c = col.defined() ? col.data<I>() : nullptr;
      const T *w = weight.defined() ? weight.data<T>() : nullptr, *in = x.data<T>();
      const auto term = [=](std::int64_t e) {
        const auto value = load(in[c ? c[e] : e]);
        return w ? load(w[e]) * value : value;
      };
      reduce(r, row.numel(), term, y.data<T>());
    });
  });
}

std::int64_t first_descent(const Tensor& ids) {
  return dispatch_index(ids.dtype(), [&]<class I>(I) -> std::int64_t {
    const I* p = ids.data<I>();
    const std::int64_t n = ids.numel();
    std::int64_t first = n;
#pragma omp parallel for reduction(min : first) if (n > kSerial)
    for (std::int64_t i = 1; i < n; ++i)
      if (p[i - 1] > p[i]) first = std::min(first, i);
    return first == n ? -1 : first;
  });
}

}  // namespace rodeo::kernels::cpu
