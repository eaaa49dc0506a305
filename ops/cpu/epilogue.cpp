#include <algorithm>
#include <cmath>

#include "ops/cpu/loops.h"
#include "ops/cpu/random_block.h"
#include "ops/kernels/dense.h"
#include "ops/kernels/dropout.h"

namespace rodeo::kernels::cpu {
namespace {

template <class T>
const T* data_or_null(const Tensor& t) {
  return t.defined() ? t.data<T>() : nullptr;
}

/// Calls f(row, column, count, unit) for parts of rows that cover elements [begin, end) of a matrix with n
/// columns. unit: `count` random numbers of random_block(), or null without dropout.
template <class F>
void for_each_part(std::int64_t begin, std::int64_t end, std::int64_t n, double p, const RandomKey& key,
                   std::uint64_t stream, F&& f) {
  float unit[kBlock];
  const std::uint64_t before = first_quad(key, n);
  std::int64_t i = begin / n, j = begin % n;
  for (std::int64_t block = begin / kBlock * kBlock; block < end; block += kBlock) {
    if (p > 0) random_block(key.seed, stream, before + static_cast<std::uint64_t>(block / 4), unit);
    const std::int64_t last = std::min(end, block + kBlock);
    for (std::int64_t at = std::max(begin, block); at < last;) {
      const std::int64_t count = std::min(last - at, n - j);
      f(i, j, static_cast<int>(count), p > 0 ? unit + (at - block) : nullptr);
      at += count;
      j += count;
      if (j == n) j = 0, ++i;
    }
  }
}

/// The bits of kernels::epilogue() for elements [first, first + count) of y; sign is zero there.
template <class T>
void set_signs(const T* y, std::int64_t first, int count, std::uint8_t* sign) {
  const auto bit = [&](std::int64_t e) { return static_cast<int>(load(y[e]) > 0) << e % 4; };
  std::int64_t e = first;
  const std::int64_t end = first + count;
  for (; e < end && e % 4 != 0; ++e) sign[e / 4] |= static_cast<std::uint8_t>(bit(e));
  for (; e + 4 <= end; e += 4)
    sign[e / 4] = static_cast<std::uint8_t>(bit(e) | bit(e + 1) | bit(e + 2) | bit(e + 3));
  for (; e < end; ++e) sign[e / 4] |= static_cast<std::uint8_t>(bit(e));
}

/// Elements that a thread processes at a time.
constexpr std::int64_t kSpan = 64 * kBlock;

}  // namespace

void epilogue(const Tensor& x, const Tensor& bias, const EpilogueOptions& options, const Tensor& y,
              const Tensor& signs) {
  if (signs.defined()) signs.fill(0);
  dispatch_float(x.dtype(), "epilogue", [&]<class T>(T) {
    using Sum = Accumulator<T>;
    const T* xp = x.data<T>();
    const Sum *b = data_or_null<Sum>(bias), *s = data_or_null<Sum>(options.pre_scale),
              *t = data_or_null<Sum>(options.post_scale);
    T* yp = y.data<T>();
    std::uint8_t* sign = signs.defined() ? signs.data<std::uint8_t>() : nullptr;
    const std::int64_t n = y.dim(1), pitch = x.dim(1), size = y.numel();
    const auto p = static_cast<float>(options.dropout);
    const auto keep = static_cast<Sum>(1 / (1 - options.dropout));
    const RandomKey key = options.key;
    const std::uint64_t stream = p > 0 ? key.stream_now() : 0;
    const Activation activation = options.activation;
    const auto part = [=](std::int64_t i, std::int64_t j, int count, const float* unit) {
      Sum v[kBlock];  // a step at a time, each a loop without conditions
      const T* from = xp + i * pitch + j;
      const Sum before = s ? s[i] : Sum(1), after = t ? t[i] : Sum(1);
      for (int k = 0; k < count; ++k) v[k] = load(from[k]) * before;
      if (b)
        for (int k = 0; k < count; ++k) v[k] += b[j + k];
      if (activation == Activation::kRelu)
        for (int k = 0; k < count; ++k) v[k] = v[k] <= 0 ? Sum(0) : v[k];  // NaN is not <= 0
      if (activation == Activation::kElu)
        for (int k = 0; k < count; ++k)
          if (v[k] <= 0) v[k] = std::expm1(v[k]);
      if (unit)
        for (int k = 0; k < count; ++k) v[k] = unit[k] < p ? Sum(0) : v[k] * keep;
      const std::int64_t first = i * n + j;
      for (int k = 0; k < count; ++k) yp[first + k] = T(v[k] * after);
      if (sign) set_signs(yp, first, count, sign);
    };
#pragma omp parallel for if (size > kSerial)
    for (std::int64_t begin = 0; begin < size; begin += kSpan)
      for_each_part(begin, std::min(size, begin + kSpan), n, p, key, stream, part);
  });
}

void epilogue_backward(const Tensor& y, const Tensor& signs, const Tensor& dy, const EpilogueOptions& options,
                       const Tensor& dx, const Tensor& db) {
  dispatch_float(dy.dtype(), "epilogue", [&]<class T>(T) {
    using Sum = Accumulator<T>;
    const T *yp = data_or_null<T>(y), *dyp = dy.data<T>();
    const std::uint8_t* sign = signs.defined() ? signs.data<std::uint8_t>() : nullptr;
    const Sum *s = data_or_null<Sum>(options.pre_scale), *t = data_or_null<Sum>(options.post_scale);
    T* dxp = dx.defined() ? dx.data<T>() : nullptr;
    const std::int64_t m = dy.dim(0), n = dy.dim(1), pitch = dxp ? dx.dim(1) : n;
    const auto p = static_cast<float>(options.dropout);
    const auto keep = static_cast<Sum>(1 / (1 - options.dropout));
    const RandomKey key = options.key;
    const std::uint64_t stream = p > 0 ? key.stream_now() : 0;
    const Activation activation = options.activation;
    const bool relu = activation == Activation::kRelu;  // tells by y what was dropped
    const auto part = [=](std::int64_t i, std::int64_t j, int count, const float* unit, double* sum) {
      Sum g[kBlock];
      const std::int64_t first = i * n + j;
      const T *value = yp ? yp + first : nullptr, *from = dyp + first;
      const Sum before = s ? s[i] : Sum(1), after = t ? t[i] : Sum(1);
      for (int k = 0; k < count; ++k) g[k] = load(from[k]) * keep;
      if (relu && sign)
        for (int k = 0; k < count; ++k) g[k] = sign[(first + k) / 4] >> (first + k) % 4 & 1 ? g[k] : Sum(0);
      if (relu && !sign)
        for (int k = 0; k < count; ++k) g[k] = load(value[k]) > 0 ? g[k] : Sum(0);
      if (activation == Activation::kElu)
        for (int k = 0; k < count; ++k) {
          const Sum v = load(value[k]);
          g[k] = v > 0 ? g[k] : g[k] * (v / keep + 1);
        }
      if (unit)
        for (int k = 0; k < count; ++k) g[k] = unit[k] < p ? Sum(0) : g[k];
      for (int k = 0; k < count; ++k) {
        g[k] *= after;
        sum[j + k] += g[k];
      }
      if (dxp)
        for (int k = 0; k < count; ++k) dxp[i * pitch + j + k] = T(g[k] * before);
    };
    // Rows are summed in chunks, and the chunks in order, so that the result does not depend on the number of
    // threads.
    constexpr std::int64_t kChunks = 64;
    const std::int64_t chunk = (m + kChunks - 1) / kChunks;
    std::vector<double> partial(static_cast<std::size_t>(kChunks * n));
#pragma omp parallel for if (m * n > kSerial)
    for (std::int64_t c = 0; c < kChunks; ++c) {
      double* sum = partial.data() + c * n;
      const std::int64_t begin = std::min(m, c * chunk), end = std::min(m, begin + chunk);
      for_each_part(begin * n, end * n, n, relu ? 0 : p, key, stream,
                    [&](std::int64_t i, std::int64_t j, int count, const float* unit) {
                      part(i, j, count, unit, sum);
                    });
      for (std::int64_t i = begin; i < end && pitch > n; ++i)
        std::fill(dxp + i * pitch + n, dxp + (i + 1) * pitch, T(0.f));
    }
    if (!db.defined()) return;
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int64_t c = 0; c < kChunks; ++c) sum += partial[static_cast<std::size_t>(c * n + j)];
      db.data<Sum>()[j] = static_cast<Sum>(sum);
    }
  });
}

}  // namespace rodeo::kernels::cpu
