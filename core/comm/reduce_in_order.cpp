#include "core/comm/reduce_in_order.h"

#include <algorithm>
#include <type_traits>

namespace rodeo::comm {
namespace {

constexpr std::int64_t kBlock = 1024;  // elements that are accumulated at once: they fit in the L1 cache

// Integers are added without a sign: they wrap around.
template <class T>
struct Accumulated {
  using Type = std::make_unsigned_t<T>;
};
template <>
struct Accumulated<double> {
  using Type = double;
};
template <>
struct Accumulated<float> {
  using Type = float;
};
template <>
struct Accumulated<BFloat16> {
  using Type = float;
};
template <>
struct Accumulated<Float16> {
  using Type = float;
};

template <class T>
void sum_block(const std::vector<const std::byte*>& parts, std::byte* out, std::int64_t begin,
               std::int64_t n) {
  using Acc = typename Accumulated<T>::Type;
  Acc sums[kBlock];
  const T* first = reinterpret_cast<const T*>(parts[0]) + begin;
  for (std::int64_t i = 0; i < n; ++i) sums[i] = static_cast<Acc>(first[i]);
  for (std::size_t p = 1; p < parts.size(); ++p) {
    const T* x = reinterpret_cast<const T*>(parts[p]) + begin;
    for (std::int64_t i = 0; i < n; ++i) sums[i] = static_cast<Acc>(sums[i] + static_cast<Acc>(x[i]));
  }
  T* y = reinterpret_cast<T*>(out) + begin;
  for (std::int64_t i = 0; i < n; ++i) y[i] = static_cast<T>(sums[i]);
}

template <class T>
void max_block(const std::vector<const std::byte*>& parts, std::byte* out, std::int64_t begin,
               std::int64_t n) {
  using Value = std::conditional_t<sizeof(T) == 2, float, T>;
  T best[kBlock];
  const T* first = reinterpret_cast<const T*>(parts[0]) + begin;
  std::copy(first, first + n, best);
  for (std::size_t p = 1; p < parts.size(); ++p) {
    const T* x = reinterpret_cast<const T*>(parts[p]) + begin;
    for (std::int64_t i = 0; i < n; ++i) {
      const Value value = static_cast<Value>(x[i]);
      const bool is_nan = value != value;
      if (is_nan || value > static_cast<Value>(best[i])) best[i] = x[i];
    }
  }
  std::copy(best, best + n, reinterpret_cast<T*>(out) + begin);
}

}  // namespace

void reduce_in_order(const std::vector<const std::byte*>& parts, std::byte* out, std::int64_t count,
                     DType dtype, Reduction reduction) {
  dispatch_all(dtype, [&]<class T>(T) {
#pragma omp parallel for if (count > 16 * kBlock)
    for (std::int64_t begin = 0; begin < count; begin += kBlock) {
      const std::int64_t n = std::min(kBlock, count - begin);
      if (reduction == Reduction::kSum)
        sum_block<T>(parts, out, begin, n);
      else
        max_block<T>(parts, out, begin, n);
    }
  });
}

}  // namespace rodeo::comm
