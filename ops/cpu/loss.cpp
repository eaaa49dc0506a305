#include <cmath>

#include "ops/cpu/loops.h"
#include "ops/kernels/loss.h"

namespace rodeo::kernels::cpu {

void log_softmax(const Tensor& x, const Tensor& y) {
  dispatch_float(x.dtype(), "log_softmax", [&]<class T>(T) {
    const T* xp = x.data<T>();
    T* yp = y.data<T>();
    const std::int64_t c = x.dim(1);
    for_each_row(x.dim(0), c, [=](std::int64_t i) {
      const T* row = xp + i * c;
      auto top = load(row[0]);
      for (std::int64_t j = 1; j < c; ++j) top = std::max(top, load(row[j]));
      decltype(top) sum = 0;
      for (std::int64_t j = 0; j < c; ++j) sum += std::exp(load(row[j]) - top);
      const auto shift = top + std::log(sum);
      for (std::int64_t j = 0; j < c; ++j) yp[i * c + j] = T(load(row[j]) - shift);
    });
  });
}

void log_softmax_backward(const Tensor& y, const Tensor& dy, const Tensor& dx) {
  dispatch_float(y.dtype(), "log_softmax", [&]<class T>(T) {
    const T *yp = y.data<T>(), *dyp = dy.data<T>();
    T* dxp = dx.data<T>();
    const std::int64_t c = y.dim(1);
    for_each_row(y.dim(0), c, [=](std::int64_t i) {
      Accumulator<T> sum = 0;
      for (std::int64_t j = 0; j < c; ++j) sum += load(dyp[i * c + j]);
      for (std::int64_t j = 0; j < c; ++j)
        dxp[i * c + j] = T(load(dyp[i * c + j]) - std::exp(load(yp[i * c + j])) * sum);
    });
  });
}

void nll_loss(const Tensor& logp, const Tensor& label, const Tensor& index, const Tensor& loss) {
  dispatch_float(logp.dtype(), "nll_loss", [&]<class T>(T) {
    const T* lp = logp.data<T>();
    const auto *lab = label.data<std::int64_t>(), *idx = index.data<std::int64_t>();
    double sum = 0;
    for (std::int64_t k = 0; k < index.numel(); ++k) sum -= load(lp[idx[k] * logp.dim(1) + lab[idx[k]]]);
    *loss.data<Accumulator<T>>() = static_cast<Accumulator<T>>(sum / static_cast<double>(index.numel()));
  });
}

void nll_loss_backward(const Tensor& dloss, const Tensor& label, const Tensor& index, const Tensor& dlogp) {
  dlogp.fill(0);
  dispatch_float(dlogp.dtype(), "nll_loss", [&]<class T>(T) {
    T* dp = dlogp.data<T>();
    const auto *lab = label.data<std::int64_t>(), *idx = index.data<std::int64_t>();
    const auto term = *dloss.data<Accumulator<T>>() / static_cast<Accumulator<T>>(index.numel());
    for (std::int64_t k = 0; k < index.numel(); ++k) {
      T& at = dp[idx[k] * dlogp.dim(1) + lab[idx[k]]];
      at = T(load(at) - term);
    }
  });
}

namespace {

template <class T>
Accumulator<T> log_sum_exp(const T* row, std::int64_t c) {
  auto top = load(row[0]);
  for (std::int64_t j = 1; j < c; ++j) top = std::max(top, load(row[j]));
  decltype(top) sum = 0;
  for (std::int64_t j = 0; j < c; ++j) sum += std::exp(load(row[j]) - top);
  return top + std::log(sum);
}

// Whether the label has the first of the largest scores; false where any score is NaN.
template <class T>
bool is_first_best(const T* row, std::int64_t c, std::int64_t label) {
  const auto own = load(row[label]);
  bool best = own == own;
  for (std::int64_t j = 0; j < c; ++j)
    best &= j == label || (j < label ? load(row[j]) < own : load(row[j]) <= own);
  return best;
}

struct Metrics {
  double right = 0, loss = 0;  // sums over the nodes
};

// Nodes are summed in chunks, and the chunks in order, so that the result does not depend on the number of
// threads.
template <class T>
Metrics sum_metrics(const T* scores, std::int64_t c, const std::int64_t* label, const Tensor& index) {
  constexpr std::int64_t kChunk = 1024;
  const auto* idx = index.data<std::int64_t>();
  const std::int64_t count = index.numel(), chunks = (count + kChunk - 1) / kChunk;
  std::vector<Metrics> parts(static_cast<std::size_t>(chunks));
#pragma omp parallel for if (count * c > kSerial)
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    Metrics part;
    for (std::int64_t k = chunk * kChunk; k < std::min(count, (chunk + 1) * kChunk); ++k) {
      const T* row = scores + idx[k] * c;
      part.right += is_first_best(row, c, label[idx[k]]);
      part.loss += log_sum_exp(row, c) - load(row[label[idx[k]]]);
    }
    parts[static_cast<std::size_t>(chunk)] = part;
  }
  Metrics sum;
  for (const Metrics& part : parts) sum = {sum.right + part.right, sum.loss + part.loss};
  return sum;
}

}  // namespace

void cross_entropy(const Tensor& logits, const Tensor& label, const Tensor& index, const Tensor& loss) {
  dispatch_float(logits.dtype(), "cross_entropy", [&]<class T>(T) {
    const double sum = sum_metrics(logits.data<T>(), logits.dim(1), label.data<std::int64_t>(), index).loss;
    *loss.data<Accumulator<T>>() = static_cast<Accumulator<T>>(sum / static_cast<double>(index.numel()));
  });
}

void cross_entropy_backward(const Tensor& dloss, const Tensor& logits, const Tensor& label,
                            const Tensor& index, const Tensor& dlogits) {
  std::vector<std::int64_t> named(static_cast<std::size_t>(logits.dim(0)));  // how often a node is
  for (std::int64_t k = 0; k < index.numel(); ++k)
    ++named[static_cast<std::size_t>(index.data<std::int64_t>()[k])];
  dispatch_float(logits.dtype(), "cross_entropy", [&]<class T>(T) {
    const T* x = logits.data<T>();
    T* dx = dlogits.data<T>();
    const auto* lab = label.data<std::int64_t>();
    const std::int64_t c = logits.dim(1);
    const auto scale = *dloss.data<Accumulator<T>>() / static_cast<Accumulator<T>>(index.numel());
    for_each_row(logits.dim(0), c, [=, &named](std::int64_t i) {
      const auto times = static_cast<Accumulator<T>>(named[static_cast<std::size_t>(i)]) * scale;
      const auto shift = times == 0 ? Accumulator<T>(0) : log_sum_exp(x + i * c, c);
      for (std::int64_t j = 0; j < c; ++j)
        dx[i * c + j] =
            times == 0 ? T(0.f)
                       : T(times * (std::exp(load(x[i * c + j]) - shift) - static_cast<float>(j == lab[i])));
    });
  });
}

void node_metrics(const Tensor& scores, const Tensor& label, const std::vector<Tensor>& sets,
                  const Tensor& metrics) {
  dispatch_float(scores.dtype(), "node_metrics", [&]<class T>(T) {
    for (std::size_t s = 0; s < sets.size(); ++s) {
      const Metrics sum = sum_metrics(scores.data<T>(), scores.dim(1), label.data<std::int64_t>(), sets[s]);
      const auto count = static_cast<double>(std::max<std::int64_t>(1, sets[s].numel()));
      metrics.data<double>()[2 * s] = sum.right / count;
      metrics.data<double>()[2 * s + 1] = sum.loss / count;
    }
  });
}

}  // namespace rodeo::kernels::cpu
