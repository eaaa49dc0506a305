/// Kernels as the source texts print them, where the library has other ones (docs/fidelity.md). They are
/// timed beside the library's. CUDA, f32.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/kernels.h"
#include "ops/convert_types.h"
#include "ops/dense_csr.h"

namespace rodeo::bench {

/// "printed-2" to "printed-32": CSR-vector SpMV by THREADS_PER_VECTOR. Long rows have no path of their own.
/// Weighted products only.
std::vector<Kernel> printed_vector_kernels();
/// The text's THREADS_PER_VECTOR: the power of two in [2, 32] nearest to the mean row length.
constexpr int printed_threads_per_vector(double mean) {
  int threads = 2;
  while (threads < 32 && mean > 1.5 * threads) threads *= 2;
  return threads;
}

/// "coo-serial": one thread adds all nonzeros of a COO. Not for more than kMostSerial of them.
Kernel serial_coo_kernel();
constexpr std::int64_t kMostSerial = 1 << 18;

#if RODEO_WITH_CUDA
/// y [rows] += A x: csr row pointers, columns and weights; `threads` 2, 4, 8, 16 or 32.
void printed_vector_spmv(const Csr& a, const Tensor& weight, const Tensor& x, int threads, const Tensor& y);
void serial_coo_spmv(const EdgeList& edges, const Tensor& weight, const Tensor& x, const Tensor& y);
/// x f32 [m, n] to CSR. A warp a row; the scan of its counts on the host; one thread of the warp writes.
WeightedAdjacency one_writer_dense_to_csr(const Tensor& x);
#endif

}  // namespace rodeo::bench
