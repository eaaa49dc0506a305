// Elementwise activations, products and their gradients. One thread per 16 bytes, grid-stride.
#include <type_traits>

#include "ops/cuda/device/pack.cuh"
#include "ops/cuda/device/tensor_data.cuh"
#include "ops/kernels/dense.h"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = 256;

template <class S>
struct Relu {
  __device__ S operator()(S x) const { return x <= 0 ? S(0) : x; }  // NaN is not <= 0
};
template <class S>
struct ReluBackward {
  __device__ S operator()(S y, S dy) const { return y > 0 ? dy : S(0); }
};
template <class S>
struct LeakyRelu {
  S slope;
  __device__ S operator()(S x) const { return x > 0 ? x : slope * x; }
};
template <class S>
struct LeakyReluBackward {
  S slope;
  __device__ S operator()(S y, S dy) const { return y > 0 ? dy : slope * dy; }
};
template <class S>
struct Elu {
  __device__ S operator()(S x) const { return x > 0 ? x : expm1(x); }
};
template <class S>
struct EluBackward {
  __device__ S operator()(S y, S dy) const { return y > 0 ? dy : (y + 1) * dy; }
};

// The probability of a normal variable below x.
template <class S>
__device__ S normal_cdf(S x) {
  return erfc(-x * static_cast<S>(0.70710678118654752440)) / 2;
}
template <class S>
struct Gelu {
  __device__ S operator()(S x) const {
    const S p = normal_cdf(x);
    return p == 0 ? S(0) : x * p;  // also for -infinity
  }
};
template <class S>
struct GeluBackward {
  __device__ S operator()(S x, S dy) const {
    const S density = static_cast<S>(0.39894228040143267794) * exp(-x * x / 2);
    return dy * (normal_cdf(x) + (density == 0 ? S(0) : x * density));
  }
};

template <class S>
struct Product {
  __device__ S operator()(S x, S y) const { return x * y; }
};
template <class S>
struct Sigmoid {
  __device__ S operator()(S x) const { return 1 / (1 + exp(-x)); }
};
template <class S>
struct SigmoidBackward {
  __device__ S operator()(S y, S dy) const { return y * (1 - y) * dy; }
};
template <class S>
struct Tanh {
  __device__ S operator()(S x) const { return tanh(x); }
};
template <class S>
struct TanhBackward {
  __device__ S operator()(S y, S dy) const { return (1 - y * y) * dy; }
};
template <class S>
struct Exp {
  __device__ S operator()(S x) const { return exp(x); }
};

template <class S>
struct Log {
  __device__ S operator()(S x) const { return log(x); }
};
template <class S>
struct LogBackward {
  __device__ S operator()(S y, S dy) const { return dy * exp(-y); }
};
template <class S>
struct Deviation {
  __device__ S operator()(S x) const { return x <= S(kLeastVariance) ? S(0) : sqrt(x); }
};
template <class S>
struct DeviationBackward {
  __device__ S operator()(S y, S dy) const { return y == 0 ? S(0) : dy / (2 * y); }
};

template <class F, class T, int kVec, class... In>
__device__ __forceinline__ void map_vector(const F& f, Pack<T, kVec>& out, const In&... in) {
#pragma unroll
  for (int v = 0; v < kVec; ++v) out.value[v] = static_cast<T>(f(widen(in.value[v])...));
}

// out[i] = f(in[i]...). Grid grid_for(vectors, kThreads), block kThreads: vectors of kVec elements, then the
// size % kVec last ones.
template <int kVec, class F, class T, class... In>
__global__ void map_kernel(F f, std::int64_t size, T* out, const In*... in) {
  using Vector = Pack<T, kVec>;
  const std::int64_t vectors = size / kVec, rest = size - vectors * kVec;
  RODEO_GRID_STRIDE(i, vectors) {
    Vector result;
    map_vector(f, result, reinterpret_cast<const Vector*>(in)[i]...);
    reinterpret_cast<Vector*>(out)[i] = result;
  }
  RODEO_GRID_STRIDE(i, rest) {
    const std::int64_t at = vectors * kVec + i;
    out[at] = static_cast<T>(f(widen(in[at])...));
  }
}

// T is the device type of the elements. aligned: vector accesses can begin at the first element of each
// array.
template <class T, class F, class... Pointers>
void launch_map(const char* name, const F& f, const Tensor& out, bool aligned, const Pointers*... in) {
  const auto run = [&]<int kVec>(std::integral_constant<int, kVec>) {
    launch(name, out.device(), map_kernel<kVec, F, T, Pointers...>,
           grid_for(ceil_div(out.numel(), kVec), kThreads), kThreads, 0, f, out.numel(), device_data<T>(out),
           in...);
  };
  if (aligned)
    run(std::integral_constant<int, 16 / sizeof(T)>{});
  else
    run(std::integral_constant<int, 1>{});
}
template <class T, class F>
void map(const char* name, const Tensor& a, const Tensor& out, const F& f) {
  const T* from = device_data<T>(a);
  launch_map<T>(name, f, out, is_aligned(a) && is_aligned(out), from);
}
template <class T, class F>
void map(const char* name, const Tensor& a, const Tensor& b, const Tensor& out, const F& f) {
  const T *first = device_data<T>(a), *second = device_data<T>(b);
  launch_map<T>(name, f, out, is_aligned(a) && is_aligned(b) && is_aligned(out), first, second);
}

}  // namespace

void relu(const Tensor& x, const Tensor& y) {
  dispatch_float(x.dtype(), "relu",
                 [&]<class T>(T) { map<device_t<T>>("relu", x, y, Relu<Accumulator<device_t<T>>>{}); });
}

void relu_backward(const Tensor& y, const Tensor& dy, const Tensor& dx) {
  dispatch_float(y.dtype(), "relu", [&]<class T>(T) {
    map<device_t<T>>("relu_backward", y, dy, dx, ReluBackward<Accumulator<device_t<T>>>{});
  });
}

void leaky_relu(const Tensor& x, double slope, const Tensor& y) {
  dispatch_float(x.dtype(), "leaky_relu", [&]<class T>(T) {
    using S = Accumulator<device_t<T>>;
    map<device_t<T>>("leaky_relu", x, y, LeakyRelu<S>{static_cast<S>(slope)});
  });
}

void leaky_relu_backward(const Tensor& y, const Tensor& dy, double slope, const Tensor& dx) {
  dispatch_float(y.dtype(), "leaky_relu", [&]<class T>(T) {
    using S = Accumulator<device_t<T>>;
    map<device_t<T>>("leaky_relu_backward", y, dy, dx, LeakyReluBackward<S>{static_cast<S>(slope)});
  });
}

void elu(const Tensor& x, const Tensor& y) {
  dispatch_float(x.dtype(), "elu",
                 [&]<class T>(T) { map<device_t<T>>("elu", x, y, Elu<Accumulator<device_t<T>>>{}); });
}

void elu_backward(const Tensor& y, const Tensor& dy, const Tensor& dx) {
  dispatch_float(y.dtype(), "elu", [&]<class T>(T) {
    map<device_t<T>>("elu_backward", y, dy, dx, EluBackward<Accumulator<device_t<T>>>{});
  });
}

void gelu(const Tensor& x, const Tensor& y) {
  dispatch_float(x.dtype(), "gelu",
                 [&]<class T>(T) { map<device_t<T>>("gelu", x, y, Gelu<Accumulator<device_t<T>>>{}); });
}

void gelu_backward(const Tensor& x, const Tensor& dy, const Tensor& dx) {
  dispatch_float(x.dtype(), "gelu", [&]<class T>(T) {
    map<device_t<T>>("gelu_backward", x, dy, dx, GeluBackward<Accumulator<device_t<T>>>{});
  });
}

void mul(const Tensor& x, const Tensor& y, const Tensor& out) {
  dispatch_float(x.dtype(), "mul", [&]<class T>(T) {
    map<device_t<T>>("mul", x, y, out, Product<Accumulator<device_t<T>>>{});
  });
}

void smooth(SmoothFunction f, const Tensor& x, const Tensor& y) {
  dispatch_float(x.dtype(), "smooth", [&]<class Host>(Host) {
    using T = device_t<Host>;
    using S = Accumulator<T>;
    switch (f) {
      case SmoothFunction::kSigmoid:
        return map<T>("sigmoid", x, y, Sigmoid<S>{});
      case SmoothFunction::kTanh:
        return map<T>("tanh", x, y, Tanh<S>{});
      case SmoothFunction::kExp:
        return map<T>("exp", x, y, Exp<S>{});
      case SmoothFunction::kLog:
        return map<T>("log", x, y, Log<S>{});
      case SmoothFunction::kDeviation:
        return map<T>("deviation", x, y, Deviation<S>{});
    }
  });
}

void smooth_backward(SmoothFunction f, const Tensor& y, const Tensor& dy, const Tensor& dx) {
  dispatch_float(y.dtype(), "smooth_backward", [&]<class Host>(Host) {
    using T = device_t<Host>;
    using S = Accumulator<T>;
    switch (f) {
      case SmoothFunction::kSigmoid:
        return map<T>("sigmoid_backward", y, dy, dx, SigmoidBackward<S>{});
      case SmoothFunction::kTanh:
        return map<T>("tanh_backward", y, dy, dx, TanhBackward<S>{});
      case SmoothFunction::kExp:
        return map<T>("exp_backward", y, dy, dx, Product<S>{});
      case SmoothFunction::kLog:
        return map<T>("log_backward", y, dy, dx, LogBackward<S>{});
      case SmoothFunction::kDeviation:
        return map<T>("deviation_backward", y, dy, dx, DeviationBackward<S>{});
    }
  });
}

}  // namespace rodeo::kernels::cuda
