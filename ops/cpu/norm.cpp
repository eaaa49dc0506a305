#include <cmath>

#include "ops/cpu/loops.h"
#include "ops/kernels/norm.h"

namespace rodeo::kernels::cpu {
namespace {

template <class T>
const T* data_or_null(const Tensor& t) {
  return t.defined() ? t.data<T>() : nullptr;
}

/// f(begin, width) for strips of columns. Each thread sums whole columns, so that the order of addition does
/// not depend on the number of threads.
constexpr std::int64_t kColumns = 16;
template <class F>
void for_each_strip(std::int64_t m, std::int64_t n, F&& f) {
#pragma omp parallel for if (m * n > kSerial)
  for (std::int64_t begin = 0; begin < n; begin += kColumns) f(begin, std::min(kColumns, n - begin));
}

}  // namespace

void batch_stats(const Tensor& x, double eps, double momentum, const RunningStats& running,
                 const Tensor& mean, const Tensor& rstd) {
  dispatch_float(x.dtype(), "batch_norm", [&]<class T>(T) {
    using Stat = Accumulator<T>;
    const T* xp = x.data<T>();
    Stat *meanp = mean.data<Stat>(), *rstdp = rstd.data<Stat>();
    Stat* running_mean = running.mean.defined() ? running.mean.data<Stat>() : nullptr;
    Stat* running_var = running.var.defined() ? running.var.data<Stat>() : nullptr;
    const std::int64_t m = x.dim(0), n = x.dim(1);
    const auto rows = static_cast<double>(m);
    for_each_strip(m, n, [=](std::int64_t begin, std::int64_t width) {
      double sum[kColumns] = {}, squares[kColumns] = {};
      for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < width; ++j) sum[j] += load(xp[i * n + begin + j]);
      for (std::int64_t j = 0; j < width; ++j) sum[j] /= rows;
      for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < width; ++j) {
          const double d = load(xp[i * n + begin + j]) - sum[j];
          squares[j] += d * d;
        }
      for (std::int64_t j = 0; j < width; ++j) {
        const std::int64_t c = begin + j;
        meanp[c] = static_cast<Stat>(sum[j]);
        rstdp[c] = static_cast<Stat>(1 / std::sqrt(squares[j] / rows + eps));
        if (!running_mean) continue;
        running_mean[c] = static_cast<Stat>((1 - momentum) * running_mean[c] + momentum * sum[j]);
        running_var[c] =
            static_cast<Stat>((1 - momentum) * running_var[c] + momentum * squares[j] / (rows - 1));
      }
    });
  });
}

void row_stats(const Tensor& x, double eps, const Tensor& mean, const Tensor& rstd) {
  dispatch_float(x.dtype(), "layer_norm", [&]<class T>(T) {
    using Stat = Accumulator<T>;
    const T* xp = x.data<T>();
    Stat *meanp = mean.data<Stat>(), *rstdp = rstd.data<Stat>();
    const std::int64_t n = x.dim(1);
    for_each_row(x.dim(0), n, [=](std::int64_t i) {
      double sum = 0, squares = 0;
      for (std::int64_t j = 0; j < n; ++j) sum += load(xp[i * n + j]);
      sum /= static_cast<double>(n);
      for (std::int64_t j = 0; j < n; ++j) {
        const double d = load(xp[i * n + j]) - sum;
        squares += d * d;
      }
      meanp[i] = static_cast<Stat>(sum);
      rstdp[i] = static_cast<Stat>(1 / std::sqrt(squares / static_cast<double>(n) + eps));
    });
  });
}

void normalize(const Tensor& x, const Tensor& mean, const Tensor& rstd, NormAxis axis, const Tensor& weight,
               const Tensor& bias, const Tensor& y) {
  dispatch_float(x.dtype(), "norm", [&]<class T>(T) {
    using Stat = Accumulator<T>;
    const T* xp = x.data<T>();
    const Stat *w = data_or_null<Stat>(weight), *b = data_or_null<Stat>(bias);
    const Stat *meanp = mean.data<Stat>(), *rstdp = rstd.data<Stat>();
    T* yp = y.data<T>();
    const std::int64_t n = x.dim(1);
    for_each_row(x.dim(0), n, [=](std::int64_t i) {
      for (std::int64_t j = 0; j < n; ++j) {
        const std::int64_t s = axis == NormAxis::kRows ? i : j;
        const Stat xhat = (load(xp[i * n + j]) - meanp[s]) * rstdp[s];
        yp[i * n + j] = T(xhat * (w ? w[j] : 1) + (b ? b[j] : 0));
      }
    });
  });
}

void norm_sums(const Tensor& x, const Tensor& dy, const Tensor& mean, const Tensor& rstd, NormAxis axis,
               const Tensor& dweight, const Tensor& dbias) {
  dispatch_float(x.dtype(), "norm", [&]<class T>(T) {
    using Stat = Accumulator<T>;
    const T *xp = x.data<T>(), *dyp = dy.data<T>();
    const Stat *meanp = data_or_null<Stat>(mean), *rstdp = data_or_null<Stat>(rstd);
    Stat *dw = dweight.data<Stat>(), *db = dbias.data<Stat>();
    const std::int64_t m = x.dim(0), n = x.dim(1);
    for_each_strip(m, n, [=](std::int64_t begin, std::int64_t width) {
      double products[kColumns] = {}, sums[kColumns] = {};
      for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < width; ++j) {
          const std::int64_t at = i * n + begin + j, s = axis == NormAxis::kRows ? i : begin + j;
          const double value = load(xp[at]), d = load(dyp[at]);
          products[j] += d * (meanp ? (value - meanp[s]) * rstdp[s] : value);
          sums[j] += d;
        }
      for (std::int64_t j = 0; j < width; ++j) {
        dw[begin + j] = static_cast<Stat>(products[j]);
        db[begin + j] = static_cast<Stat>(sums[j]);
      }
    });
  });
}

void batch_norm_dx(const Tensor& x, const Tensor& dy, const Tensor& mean, const Tensor& rstd,
                   const Tensor& weight, const Tensor& dweight, const Tensor& dbias, const Tensor& dx) {
  dispatch_float(x.dtype(), "batch_norm", [&]<class T>(T) {
    using Stat = Accumulator<T>;
    const T *xp = x.data<T>(), *dyp = dy.data<T>();
    const Stat *meanp = mean.data<Stat>(), *rstdp = rstd.data<Stat>(), *w = data_or_null<Stat>(weight),
               *dw = data_or_null<Stat>(dweight), *db = dbias.data<Stat>();
    T* out = dx.data<T>();
    const std::int64_t m = x.dim(0), n = x.dim(1);
    for_each_row(m, n, [=](std::int64_t i) {
      for (std::int64_t j = 0; j < n; ++j) {
        const Stat xhat = (load(xp[i * n + j]) - meanp[j]) * rstdp[j];
        const Stat shared = dw ? (db[j] + xhat * dw[j]) / static_cast<Stat>(m) : 0;
        out[i * n + j] = T((w ? w[j] : 1) * rstdp[j] * (load(dyp[i * n + j]) - shared));
      }
    });
  });
}

void layer_norm_dx(const Tensor& x, const Tensor& dy, const Tensor& mean, const Tensor& rstd,
                   const Tensor& weight, const Tensor& dx) {
  dispatch_float(x.dtype(), "layer_norm", [&]<class T>(T) {
    using Stat = Accumulator<T>;
    const T *xp = x.data<T>(), *dyp = dy.data<T>();
    const Stat *meanp = mean.data<Stat>(), *rstdp = rstd.data<Stat>(), *w = data_or_null<Stat>(weight);
    T* out = dx.data<T>();
    const std::int64_t n = x.dim(1);
    for_each_row(x.dim(0), n, [=](std::int64_t i) {
      const auto xhat = [=](std::int64_t j) { return (load(xp[i * n + j]) - meanp[i]) * rstdp[i]; };
      const auto g = [=](std::int64_t j) { return load(dyp[i * n + j]) * (w ? w[j] : 1); };
      double sum = 0, products = 0;
      for (std::int64_t j = 0; j < n; ++j) sum += g(j), products += static_cast<double>(g(j)) * xhat(j);
      sum /= static_cast<double>(n), products /= static_cast<double>(n);
      for (std::int64_t j = 0; j < n; ++j)
        out[i * n + j] = T(static_cast<Stat>((g(j) - sum - xhat(j) * products) * rstdp[i]));
    });
  });
}

void l2_normalize(const Tensor& x, double eps, const Tensor& y, const Tensor& inverse) {
  dispatch_float(x.dtype(), "l2_normalize", [&]<class T>(T) {
    using Stat = Accumulator<T>;
    const T* xp = x.data<T>();
    T* yp = y.data<T>();
    Stat* inversep = inverse.data<Stat>();
    const std::int64_t n = x.dim(1);
    for_each_row(x.dim(0), n, [=](std::int64_t i) {
      double squares = 0;
      for (std::int64_t j = 0; j < n; ++j)
        squares += static_cast<double>(load(xp[i * n + j])) * load(xp[i * n + j]);
      inversep[i] = static_cast<Stat>(1 / std::max(std::sqrt(squares), eps));
      for (std::int64_t j = 0; j < n; ++j) yp[i * n + j] = T(load(xp[i * n + j]) * inversep[i]);
    });
  });
}

void l2_normalize_backward(const Tensor& y, const Tensor& inverse, double eps, const Tensor& dy,
                           const Tensor& dx) {
  dispatch_float(y.dtype(), "l2_normalize", [&]<class T>(T) {
    using Stat = Accumulator<T>;
    const T *yp = y.data<T>(), *dyp = dy.data<T>();
    T* out = dx.data<T>();
    const Stat *inversep = inverse.data<Stat>(), largest = static_cast<Stat>(1 / eps);
    const std::int64_t n = y.dim(1);
    for_each_row(y.dim(0), n, [=](std::int64_t i) {
      double product = 0;
      for (std::int64_t j = 0; j < n; ++j)
        product += static_cast<double>(load(yp[i * n + j])) * load(dyp[i * n + j]);
      const Stat along = inversep[i] >= largest ? Stat(0) : static_cast<Stat>(product);
      for (std::int64_t j = 0; j < n; ++j)
        out[i * n + j] = T(inversep[i] * (load(dyp[i * n + j]) - load(yp[i * n + j]) * along));
    });
  });
}

}  // namespace rodeo::kernels::cpu
