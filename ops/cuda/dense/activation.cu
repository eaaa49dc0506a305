// Elementwise activations, products and their gradients. One thread per 16 bytes, grid-stride.
#include "ops/cuda/device/pack.cuh"
#include "ops/cuda/device/tensor_data.cuh"
#include "ops/kernels/dense.h"

namespace rodeo::kernels::cuda {
namespace {

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

// f in the accumulator's type.
template <class T, class F>
struct Widened {
  F f;
  template <class... In>
  __device__ T operator()(In... in) const {
    return static_cast<T>(f(widen(in)...));
  }
};
// T is the device type of the elements.
template <class T, class F, class... In>
void map(const char* name, const F& f, const Tensor& out, const In&... in) {
  launch_map(name, out, Widened<T, F>{f}, device_data<T>(out), static_cast<const T*>(device_data<T>(in))...);
}

}  // namespace

void relu(const Tensor& x, const Tensor& y) {
  dispatch_float(x.dtype(), "relu",
                 [&]<class T>(T) { map<device_t<T>>("relu", Relu<Accumulator<device_t<T>>>{}, y, x); });
}

void relu_backward(const Tensor& y, const Tensor& dy, const Tensor& dx) {
  dispatch_float(y.dtype(), "relu", [&]<class T>(T) {
    map<device_t<T>>("relu_backward", ReluBackward<Accumulator<device_t<T>>>{}, dx, y, dy);
  });
}

void leaky_relu(const Tensor& x, double slope, const Tensor& y) {
  dispatch_float(x.dtype(), "leaky_relu", [&]<class T>(T) {
    using S = Accumulator<device_t<T>>;
    map<device_t<T>>("leaky_relu", LeakyRelu<S>{static_cast<S>(slope)}, y, x);
  });
}

void leaky_relu_backward(const Tensor& y, const Tensor& dy, double slope, const Tensor& dx) {
  dispatch_float(y.dtype(), "leaky_relu", [&]<class T>(T) {
    using S = Accumulator<device_t<T>>;
    map<device_t<T>>("leaky_relu_backward", LeakyReluBackward<S>{static_cast<S>(slope)}, dx, y, dy);
  });
}

void elu(const Tensor& x, const Tensor& y) {
  dispatch_float(x.dtype(), "elu",
                 [&]<class T>(T) { map<device_t<T>>("elu", Elu<Accumulator<device_t<T>>>{}, y, x); });
}

void elu_backward(const Tensor& y, const Tensor& dy, const Tensor& dx) {
  dispatch_float(y.dtype(), "elu", [&]<class T>(T) {
    map<device_t<T>>("elu_backward", EluBackward<Accumulator<device_t<T>>>{}, dx, y, dy);
  });
}

void gelu(const Tensor& x, const Tensor& y) {
  dispatch_float(x.dtype(), "gelu",
                 [&]<class T>(T) { map<device_t<T>>("gelu", Gelu<Accumulator<device_t<T>>>{}, y, x); });
}

void gelu_backward(const Tensor& x, const Tensor& dy, const Tensor& dx) {
  dispatch_float(x.dtype(), "gelu", [&]<class T>(T) {
    map<device_t<T>>("gelu_backward", GeluBackward<Accumulator<device_t<T>>>{}, dx, x, dy);
  });
}

void mul(const Tensor& x, const Tensor& y, const Tensor& out) {
  dispatch_float(x.dtype(), "mul", [&]<class T>(T) {
    map<device_t<T>>("mul", Product<Accumulator<device_t<T>>>{}, out, x, y);
  });
}

void smooth(SmoothFunction f, const Tensor& x, const Tensor& y) {
  dispatch_float(x.dtype(), "smooth", [&]<class Host>(Host) {
    using T = device_t<Host>;
    using S = Accumulator<T>;
    switch (f) {
      case SmoothFunction::kSigmoid:
        return map<T>("sigmoid", Sigmoid<S>{}, y, x);
      case SmoothFunction::kTanh:
        return map<T>("tanh", Tanh<S>{}, y, x);
      case SmoothFunction::kExp:
        return map<T>("exp", Exp<S>{}, y, x);
      case SmoothFunction::kLog:
        return map<T>("log", Log<S>{}, y, x);
      case SmoothFunction::kDeviation:
        return map<T>("deviation", Deviation<S>{}, y, x);
    }
  });
}

void smooth_backward(SmoothFunction f, const Tensor& y, const Tensor& dy, const Tensor& dx) {
  dispatch_float(y.dtype(), "smooth_backward", [&]<class Host>(Host) {
    using T = device_t<Host>;
    using S = Accumulator<T>;
    switch (f) {
      case SmoothFunction::kSigmoid:
        return map<T>("sigmoid_backward", SigmoidBackward<S>{}, dx, y, dy);
      case SmoothFunction::kTanh:
        return map<T>("tanh_backward", TanhBackward<S>{}, dx, y, dy);
      case SmoothFunction::kExp:
        return map<T>("exp_backward", Product<S>{}, dx, y, dy);
      case SmoothFunction::kLog:
        return map<T>("log_backward", LogBackward<S>{}, dx, y, dy);
      case SmoothFunction::kDeviation:
        return map<T>("deviation_backward", DeviationBackward<S>{}, dx, y, dy);
    }
  });
}

}  // namespace rodeo::kernels::cuda
