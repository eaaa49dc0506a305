/// Limits of the architecture that device code is compiled for.
#pragma once

namespace rodeo::kernels::cuda {

/// Resident threads per multiprocessor. Launch bounds beyond them are an error.
#if defined(__CUDA_ARCH__) && ((__CUDA_ARCH__ > 800 && __CUDA_ARCH__ < 900) || __CUDA_ARCH__ >= 1100)
constexpr int kThreadsPerMultiprocessor = 1536;
#else
constexpr int kThreadsPerMultiprocessor = 2048;
#endif

}  // namespace rodeo::kernels::cuda
