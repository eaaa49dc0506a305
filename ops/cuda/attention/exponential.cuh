/// The exponential function of attention weights.
#pragma once

namespace rodeo::kernels::cuda {

/// e^x. f32 uses the hardware's 2^x: results below 2^-126 are 0, NaN stays NaN.
__device__ __forceinline__ float exponential(float x) {
  constexpr float kLog2OfE = 1.44269504f;
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x * kLog2OfE));
  return y;
}
__device__ __forceinline__ double exponential(double x) {
  return exp(x);
}

}  // namespace rodeo::kernels::cuda
