// Device code. It gets pointers and a stream, and includes no header of the library.
#include <cuda_runtime.h>

#include <cstdint>

constexpr int kWarp = 32, kWarps = 8;  // lanes of a warp, warps of a block

// One warp computes one edge. Grid min(edges / kWarps, 65536), block (kWarp, kWarps).
template <class T>
__global__ void edge_distance_kernel(const std::int32_t* row, const std::int32_t* col, const T* x,
                                     std::int64_t edges, std::int64_t k, T* d) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kWarps;
  for (std::int64_t e = static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.y; e < edges; e += step) {
    const T *a = x + row[e] * k, *b = x + col[e] * k;  // k has 64 bits, so the products do not overflow
    T sum = 0;
    for (std::int64_t c = threadIdx.x; c < k; c += kWarp) sum += (a[c] - b[c]) * (a[c] - b[c]);
    for (int lane = kWarp / 2; lane > 0; lane /= 2) sum += __shfl_down_sync(0xffffffffu, sum, lane);
    if (threadIdx.x == 0) d[e] = sum;
  }
}

template <class T>
const char* launch_edge_distance(const std::int32_t* row, const std::int32_t* col, const T* x,
                                 std::int64_t edges, std::int64_t k, T* d, cudaStream_t stream) {
  const std::int64_t blocks = (edges + kWarps - 1) / kWarps;
  edge_distance_kernel<<<static_cast<unsigned>(blocks < 65536 ? blocks : 65536), dim3(kWarp, kWarps), 0,
                         stream>>>(row, col, x, edges, k, d);
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}

template const char* launch_edge_distance(const std::int32_t*, const std::int32_t*, const float*,
                                          std::int64_t, std::int64_t, float*, cudaStream_t);
template const char* launch_edge_distance(const std::int32_t*, const std::int32_t*, const double*,
                                          std::int64_t, std::int64_t, double*, cudaStream_t);
