// Sum or maximum over ranks, element by element in the order of ranks.
#include <type_traits>

#include "core/cuda/launch.cuh"
#include "core/cuda/reduce_ranks.h"

namespace rodeo::cuda {
namespace {

constexpr int kThreads = 256;

/// What values are added in: 16-bit floats in f32, integers without a sign, so that they wrap around.
template <class T, bool is_integer = std::is_integral_v<T>>
struct Accumulated {
  using Type = std::conditional_t<std::is_same_v<T, double>, double, float>;
};
template <class T>
struct Accumulated<T, true> {
  using Type = std::make_unsigned_t<T>;
};

template <class T>
struct Sum {
  using Acc = typename Accumulated<T>::Type;
  Acc value;
  __device__ explicit Sum(T first) : value(static_cast<Acc>(first)) {}
  __device__ void add(T x) { value = static_cast<Acc>(value + static_cast<Acc>(x)); }
  __device__ T result() const { return static_cast<T>(value); }
};

/// NaN wins; of equal values the first one.
template <class T>
struct Max {
  using Value = std::conditional_t<sizeof(T) == 2, float, T>;
  T best;
  __device__ explicit Max(T first) : best(first) {}
  __device__ void add(T x) {
    const Value value = static_cast<Value>(x);
    if (value != value || value > static_cast<Value>(best)) best = x;
  }
  __device__ T result() const { return best; }
};

// One thread per element, grid-stride.
template <class T, class Reducer>
__global__ void reduce_kernel(RankParts parts, T* out, std::int64_t count) {
  RODEO_GRID_STRIDE(i, count) {
    const auto part = [&](int rank) {
      if (rank == parts.rank) return static_cast<const T*>(parts.own)[i];
      const int other = rank < parts.rank ? rank : rank - 1;
      return static_cast<const T*>(parts.others)[other * parts.stride + i];
    };
    Reducer reducer(part(0));
    for (int rank = 1; rank < parts.size; ++rank) reducer.add(part(rank));
    out[i] = reducer.result();
  }
}

}  // namespace

void reduce_ranks(const RankParts& parts, void* out, std::int64_t count, DType dtype, Reduction reduction,
                  Device device) {
  dispatch_all(dtype, [&]<class Host>(Host) {
    using T = device_t<Host>;
    const auto kernel = reduction == Reduction::kSum ? reduce_kernel<T, Sum<T>> : reduce_kernel<T, Max<T>>;
    launch("reduce_ranks", device, kernel, grid_for(count, kThreads), dim3(kThreads), 0, parts,
           static_cast<T*>(out), count);
  });
}

}  // namespace rodeo::cuda
