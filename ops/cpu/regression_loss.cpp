#include <cmath>

#include "ops/cpu/loops.h"
#include "ops/kernels/loss.h"

namespace rodeo::kernels::cpu {
namespace {

/// The rows that count: those of index, or all.
struct Rows {
  Rows(const Tensor& x, const Tensor& index)
      : id(index.defined() ? index.data<std::int64_t>() : nullptr),
        count(index.defined() ? index.numel() : x.dim(0)),
        c(x.rank() == 2 ? x.dim(1) : 1) {}
  std::int64_t begin(std::int64_t i) const { return (id ? id[i] : i) * c; }

  const std::int64_t* id;
  std::int64_t count, c;
};

/// The derivative of the term of a difference d.
template <class A>
A slope(Difference difference, A d) {
  return difference == Difference::kSquare ? 2 * d : d == 0 || d != d ? d : std::copysign(A{1}, d);
}

}  // namespace

void regression_loss(Difference difference, const Tensor& x, const Tensor& target, const Tensor& index,
                     const Tensor& loss) {
  dispatch_float(x.dtype(), "regression_loss", [&]<class T>(T) {
    const T *xp = x.data<T>(), *tp = target.data<T>();
    const Rows rows(x, index);
    std::vector<double> of_row(static_cast<std::size_t>(rows.count));
    for_each_row(rows.count, rows.c, [&](std::int64_t i) {
      for (std::int64_t at = rows.begin(i); at < rows.begin(i) + rows.c; ++at) {
        const double d = static_cast<double>(load(xp[at])) - static_cast<double>(load(tp[at]));
        of_row[i] += difference == Difference::kSquare ? d * d : std::fabs(d);
      }
    });
    double sum = 0;
    for (const double row : of_row) sum += row;
    *loss.data<Accumulator<T>>() =
        static_cast<Accumulator<T>>(sum / (static_cast<double>(rows.count) * static_cast<double>(rows.c)));
  });
}

void regression_loss_backward(Difference difference, const Tensor& dloss, const Tensor& x,
                              const Tensor& target, const Tensor& index, const Tensor& dx) {
  dx.fill(0);
  dispatch_float(x.dtype(), "regression_loss", [&]<class T>(T) {
    using A = Accumulator<T>;
    const T *xp = x.data<T>(), *tp = target.data<T>();
    T* dxp = dx.data<T>();
    const Rows rows(x, index);
    const A scale = *dloss.data<A>() / (static_cast<A>(rows.count) * static_cast<A>(rows.c));
    for (std::int64_t i = 0; i < rows.count; ++i)  // a node may come twice: one thread
      for (std::int64_t at = rows.begin(i); at < rows.begin(i) + rows.c; ++at)
        dxp[at] = T(load(dxp[at]) + scale * slope(difference, load(xp[at]) - load(tp[at])));
  });
}

}  // namespace rodeo::kernels::cpu
