#include <cmath>

#include "ops/cpu/loops.h"
#include "ops/kernels.h"

namespace rodeo::kernels::cpu {
namespace {

template <class T>
const T* data_or_null(const Tensor& t) {
  return t.defined() ? t.data<T>() : nullptr;
}

}  // namespace

void epilogue(const Tensor& x, const Tensor& bias, const EpilogueOptions& options, const Tensor& y) {
  dispatch_float(x.dtype(), "epilogue", [&]<class T>(T) {
    const T *xp = x.data<T>(), *b = data_or_null<T>(bias), *s = data_or_null<T>(options.scale),
            *t = data_or_null<T>(options.after);
    T* yp = y.data<T>();
    const std::int64_t n = y.dim(1), pitch = x.dim(1), size = y.numel();
    const auto p = static_cast<float>(options.dropout);
    const auto keep = static_cast<Accumulator<T>>(1 / (1 - options.dropout));
    const std::uint64_t seed = options.key.seed, stream = p > 0 ? options.key.stream_now() : 0;
    const Activation activation = options.activation;
    for_each_element((size + 3) / 4, [=](std::int64_t quad) {
      Philox4 random{};
      if (p > 0) random = philox(seed, stream, static_cast<std::uint64_t>(quad));
      std::int64_t i = quad * 4 / n, j = quad * 4 % n;
      for (std::int64_t k = 0; k < std::min<std::int64_t>(4, size - quad * 4); ++k) {
        auto value = load(xp[i * pitch + j]);
        if (s) value *= load(s[i]);
        if (b) value += load(b[j]);
        if (activation == Activation::kRelu && value <= 0) value = 0;  // NaN is not <= 0
        if (activation == Activation::kElu && value <= 0) value = std::expm1(value);
        if (p > 0) value = to_unit(random.word[k]) < p ? decltype(value)(0) : value * keep;
        if (t) value *= load(t[i]);
        yp[quad * 4 + k] = T(value);
        if (++j == n) j = 0, ++i;
      }
    });
  });
}

void epilogue_backward(const Tensor& y, const Tensor& dy, const EpilogueOptions& options, const Tensor& dx,
                       const Tensor& db) {
  dispatch_float(dy.dtype(), "epilogue", [&]<class T>(T) {
    using Sum = Accumulator<T>;
    const T *yp = data_or_null<T>(y), *dyp = dy.data<T>(), *s = data_or_null<T>(options.scale),
            *t = data_or_null<T>(options.after);
    T* dxp = dx.defined() ? dx.data<T>() : nullptr;
    const std::int64_t m = dy.dim(0), n = dy.dim(1), pitch = (dx.defined() ? dx : dy).dim(1);
    const auto p = static_cast<float>(options.dropout);
    const auto keep = static_cast<Sum>(1 / (1 - options.dropout));
    const std::uint64_t seed = options.key.seed, stream = p > 0 ? options.key.stream_now() : 0;
    const auto gradient = [=](std::int64_t i, std::int64_t j) -> Sum {
      const std::int64_t at = i * n + j;
      const Sum value = yp ? load(yp[at]) : Sum(1);
      const bool relu = options.activation == Activation::kRelu;
      if (relu ? !(value > 0)
               : p > 0 && to_unit(random_word(seed, stream, static_cast<std::uint64_t>(at))) < p)
        return 0;
      Sum g = load(dyp[at]) * keep;
      if (options.activation == Activation::kElu && !(value > 0)) g *= value / keep + 1;
      return t ? g * load(t[i]) : g;
    };
    // Rows are summed in chunks, and the chunks in order: the number of threads does not matter.
    constexpr std::int64_t kChunks = 64;
    const std::int64_t chunk = (m + kChunks - 1) / kChunks;
    std::vector<double> partial(static_cast<std::size_t>(kChunks * n));
#pragma omp parallel for if (m * n > kSerial)
    for (std::int64_t c = 0; c < kChunks; ++c) {
      double* sum = partial.data() + c * n;
      for (std::int64_t i = c * chunk; i < std::min(m, (c + 1) * chunk); ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
          const Sum g = gradient(i, j);
          sum[j] += g;
          if (dxp) dxp[i * pitch + j] = T(s ? g * load(s[i]) : g);
        }
        for (std::int64_t j = n; dxp && j < pitch; ++j) dxp[i * pitch + j] = T(0.f);
      }
    }
    if (!db.defined()) return;
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int64_t c = 0; c < kChunks; ++c) sum += partial[static_cast<std::size_t>(c * n + j)];
      db.data<T>()[j] = T(static_cast<Sum>(sum));
    }
  });
}

}  // namespace rodeo::kernels::cpu
