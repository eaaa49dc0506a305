/// Shared by the cuSPARSE baselines: descriptors with owners, and one checked call. A call that fails throws
/// Unsupported: sparse_bench then lists the kernel as not timed and continues.
#pragma once

#include <cusparse.h>

#include <limits>
#include <memory>

#include "bench/kernels.h"

namespace rodeo::bench {

inline void check_cusparse(cusparseStatus_t status, const std::string& what) {
  if (status != CUSPARSE_STATUS_SUCCESS) throw Unsupported(what + ": " + cusparseGetErrorString(status));
}

/// One handle, on the stream of the Context.
cusparseHandle_t cusparse_handle(Device device);

cudaDataType type_of(DType dtype);
/// The accumulator type: f64 for f64, else f32.
inline cudaDataType compute_type(DType dtype) {
  return dtype == DType::kF64 ? CUDA_R_64F : CUDA_R_32F;
}

/// A host scalar of the compute type.
struct Scalar {
  float single;
  double twice;
  const void* as(cudaDataType type) const {
    return type == CUDA_R_64F ? static_cast<const void*>(&twice) : &single;
  }
};
inline constexpr Scalar kOne{1, 1}, kZero{0, 0};

/// A CSR matrix with 32-bit row pointers.
struct SparseMatrix {
  Tensor row_ptr, col, values;
  std::shared_ptr<cusparseSpMatDescr> descriptor;
};
/// Throws Unsupported if the graph has more edges than 32-bit row pointers can index.
SparseMatrix describe_csr(const Adjacency& adj, const Tensor& values);

using DenseMatrix = std::shared_ptr<cusparseDnMatDescr>;
using DenseVector = std::shared_ptr<cusparseDnVecDescr>;
DenseMatrix describe_matrix(const Tensor& x);
DenseVector describe_vector(const Tensor& x);

/// The edge weights, or ones.
inline Tensor values_of(const Problem& p) {
  return p.weight.defined() ? p.weight : Tensor::full({p.adj.num_edges()}, 1, p.dtype, p.adj.device());
}

inline Tensor workspace_of(std::size_t bytes, Device device) {
  return Tensor::empty({static_cast<std::int64_t>(bytes)}, DType::kU8, device);
}

}  // namespace rodeo::bench
