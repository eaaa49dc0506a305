#include <cuda_runtime.h>
#include <fmt/format.h>

#include <cctype>
#include <fstream>

#include "bench/cusparse.h"
#include "bench/peers.h"
#include "core/context.h"

namespace rodeo::bench {

cusparseHandle_t cusparse_handle(Device device) {
  static const cusparseHandle_t handle = [] {
    cusparseHandle_t made = nullptr;
    check_cusparse(cusparseCreate(&made), "creating a handle");
    return made;
  }();
  check_cusparse(cusparseSetStream(handle, Context::of(device).stream()), "setting the stream");
  return handle;
}

cudaDataType type_of(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return CUDA_R_64F;
    case DType::kF32:
      return CUDA_R_32F;
    case DType::kF16:
      return CUDA_R_16F;
    case DType::kBF16:
      return CUDA_R_16BF;
    default:
      fail("[cusparse] no type for ", dtype);
  }
}

SparseMatrix describe_csr(const Adjacency& adj, const Tensor& values) {
  if (adj.num_edges() > std::numeric_limits<std::int32_t>::max())
    throw Unsupported("more edges than 32-bit row pointers reach");
  SparseMatrix a{adj.csr().row_ptr.to(DType::kI32), adj.csr().col, values, {}};
  cusparseSpMatDescr_t made = nullptr;
  check_cusparse(cusparseCreateCsr(&made, adj.rows(), adj.cols(), adj.num_edges(), a.row_ptr.raw(),
                                   a.col.raw(), values.raw(), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                                   CUSPARSE_INDEX_BASE_ZERO, type_of(values.dtype())),
                 "describing a CSR matrix");
  a.descriptor = {made, [](cusparseSpMatDescr_t descriptor) { cusparseDestroySpMat(descriptor); }};
  return a;
}

DenseMatrix describe_matrix(const Tensor& x) {
  cusparseDnMatDescr_t made = nullptr;
  check_cusparse(cusparseCreateDnMat(&made, x.dim(0), x.dim(1), x.dim(1), x.raw(), type_of(x.dtype()),
                                     CUSPARSE_ORDER_ROW),
                 "describing a matrix");
  return {made, [](cusparseDnMatDescr_t descriptor) { cusparseDestroyDnMat(descriptor); }};
}

DenseVector describe_vector(const Tensor& x) {
  cusparseDnVecDescr_t made = nullptr;
  check_cusparse(cusparseCreateDnVec(&made, x.numel(), x.raw(), type_of(x.dtype())), "describing a vector");
  return {made, [](cusparseDnVecDescr_t descriptor) { cusparseDestroyDnVec(descriptor); }};
}

std::string cuda_versions() {
  int runtime = 0, part[3] = {};
  cudaRuntimeGetVersion(&runtime);
  const libraryPropertyType parts[] = {MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL};
  for (int i = 0; i < 3; ++i) cusparseGetProperty(parts[i], &part[i]);
  // The version is the word of the form 580.65.06 in the line of the kernel module.
  std::string driver = "of unknown version", word;
  std::ifstream file("/proc/driver/nvidia/version");
  while (file >> word)
    if (std::isdigit(static_cast<unsigned char>(word[0])) && word.find('.') != std::string::npos) {
      driver = word;
      break;
    }
  return fmt::format("driver {}, CUDA {}.{}, cuSPARSE {}.{}.{}", driver, runtime / 1000, runtime % 1000 / 10,
                     part[0], part[1], part[2]);
}

}  // namespace rodeo::bench
