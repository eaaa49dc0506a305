// Definitions of the CUDA library functions that Rodeo calls, under their own names. Each loads its library
// on first use and forwards the call. Hidden visibility keeps them from other libraries of the process.
#include <cublasLt.h>
#include <cusparse.h>

#include "core/cuda/library.h"
#if RODEO_WITH_CUDNN
#include <cudnn.h>
#endif

#define RODEO_TEXT_OF(x) #x
#define RODEO_TEXT(x) RODEO_TEXT_OF(x)

namespace rodeo::cuda {

Library& cublaslt_library() {
  static Library& library = *new Library(
      "cuBLASLt",
      "libcublasLt.so." RODEO_TEXT(CUBLAS_VER_MAJOR));  // never destroyed: descriptors may be destroyed later
  return library;
}

Library& cusparse_library() {
  static Library& library =
      *new Library("cuSPARSE",
                   "libcusparse.so." RODEO_TEXT(
                       CUSPARSE_VER_MAJOR));  // never destroyed: descriptors may be destroyed later
  return library;
}

#if RODEO_WITH_CUDNN
Library& cudnn_library() {
  static Library& library = *new Library(
      "cuDNN",
      "libcudnn.so." RODEO_TEXT(CUDNN_MAJOR));  // never destroyed: descriptors may be destroyed later
  return library;
}
#endif

}  // namespace rodeo::cuda

#define RODEO_FORWARD(library, returns, name, parameters, arguments)                         \
  extern "C" __attribute__((visibility("hidden"))) returns name parameters {                 \
    static const auto function =                                                             \
        reinterpret_cast<decltype(&name)>(rodeo::cuda::library##_library().function(#name)); \
    return function arguments;                                                               \
  }
#define RODEO_CUBLASLT(name, parameters, arguments) \
  RODEO_FORWARD(cublaslt, cublasStatus_t, name, parameters, arguments)
#define RODEO_CUSPARSE(name, parameters, arguments) \
  RODEO_FORWARD(cusparse, cusparseStatus_t, name, parameters, arguments)

// clang-format off
RODEO_FORWARD(cublaslt, const char*, cublasLtGetStatusString, (cublasStatus_t status), (status))
RODEO_CUBLASLT(cublasLtCreate, (cublasLtHandle_t* handle), (handle))
RODEO_CUBLASLT(cublasLtMatrixLayoutCreate,
    (cublasLtMatrixLayout_t* made, cudaDataType type, uint64_t rows, uint64_t cols, int64_t ld), (made, type, rows, cols, ld))
RODEO_CUBLASLT(cublasLtMatrixLayoutSetAttribute,
    (cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t attribute, const void* value, size_t bytes),
    (layout, attribute, value, bytes))
RODEO_CUBLASLT(cublasLtMatmulDescCreate,
    (cublasLtMatmulDesc_t* made, cublasComputeType_t compute, cudaDataType_t scale), (made, compute, scale))
RODEO_CUBLASLT(cublasLtMatmulDescSetAttribute,
    (cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attribute, const void* value, size_t bytes),
    (desc, attribute, value, bytes))
RODEO_CUBLASLT(cublasLtMatmulPreferenceCreate, (cublasLtMatmulPreference_t* made), (made))
RODEO_CUBLASLT(cublasLtMatmulPreferenceDestroy, (cublasLtMatmulPreference_t preference), (preference))
RODEO_CUBLASLT(cublasLtMatmulPreferenceSetAttribute,
    (cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t attribute, const void* value, size_t bytes),
    (preference, attribute, value, bytes))
RODEO_CUBLASLT(cublasLtMatmulAlgoGetHeuristic,
    (cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
     cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t preference, int wanted,
     cublasLtMatmulHeuristicResult_t results[], int* found),
    (handle, desc, a, b, c, d, preference, wanted, results, found))
RODEO_CUBLASLT(cublasLtMatmul,
    (cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void* alpha, const void* a, cublasLtMatrixLayout_t of_a,
     const void* b, cublasLtMatrixLayout_t of_b, const void* beta, const void* c, cublasLtMatrixLayout_t of_c, void* d,
     cublasLtMatrixLayout_t of_d, const cublasLtMatmulAlgo_t* algorithm, void* workspace, size_t bytes, cudaStream_t stream),
    (handle, desc, alpha, a, of_a, b, of_b, beta, c, of_c, d, of_d, algorithm, workspace, bytes, stream))

RODEO_FORWARD(cusparse, const char*, cusparseGetErrorString, (cusparseStatus_t status), (status))
RODEO_CUSPARSE(cusparseCreate, (cusparseHandle_t* handle), (handle))
RODEO_CUSPARSE(cusparseSetStream, (cusparseHandle_t handle, cudaStream_t stream), (handle, stream))
RODEO_CUSPARSE(cusparseCreateCsr,
    (cusparseSpMatDescr_t* made, int64_t rows, int64_t cols, int64_t nnz, void* offsets, void* columns, void* values,
     cusparseIndexType_t of_offsets, cusparseIndexType_t of_columns, cusparseIndexBase_t base, cudaDataType type),
    (made, rows, cols, nnz, offsets, columns, values, of_offsets, of_columns, base, type))
RODEO_CUSPARSE(cusparseSpMatSetValues, (cusparseSpMatDescr_t matrix, void* values), (matrix, values))
RODEO_CUSPARSE(cusparseDestroySpMat, (cusparseConstSpMatDescr_t matrix), (matrix))
RODEO_CUSPARSE(cusparseCreateDnMat,
    (cusparseDnMatDescr_t* made, int64_t rows, int64_t cols, int64_t ld, void* values, cudaDataType type, cusparseOrder_t order),
    (made, rows, cols, ld, values, type, order))
RODEO_CUSPARSE(cusparseDnMatSetValues, (cusparseDnMatDescr_t matrix, void* values), (matrix, values))
RODEO_CUSPARSE(cusparseDestroyDnMat, (cusparseConstDnMatDescr_t matrix), (matrix))
RODEO_CUSPARSE(cusparseSpMM_bufferSize,
    (cusparseHandle_t handle, cusparseOperation_t of_a, cusparseOperation_t of_x, const void* alpha, cusparseConstSpMatDescr_t a,
     cusparseConstDnMatDescr_t x, const void* beta, cusparseDnMatDescr_t y, cudaDataType type, cusparseSpMMAlg_t algorithm,
     size_t* bytes),
    (handle, of_a, of_x, alpha, a, x, beta, y, type, algorithm, bytes))
RODEO_CUSPARSE(cusparseSpMM,
    (cusparseHandle_t handle, cusparseOperation_t of_a, cusparseOperation_t of_x, const void* alpha, cusparseConstSpMatDescr_t a,
     cusparseConstDnMatDescr_t x, const void* beta, cusparseDnMatDescr_t y, cudaDataType type, cusparseSpMMAlg_t algorithm,
     void* workspace),
    (handle, of_a, of_x, alpha, a, x, beta, y, type, algorithm, workspace))

#if RODEO_WITH_CUDNN
RODEO_FORWARD(cudnn, const char*, cudnnGetErrorString, (cudnnStatus_t status), (status))
RODEO_FORWARD(cudnn, cudnnStatus_t, cudnnCreate, (cudnnHandle_t* handle), (handle))
RODEO_FORWARD(cudnn, cudnnStatus_t, cudnnSetStream, (cudnnHandle_t handle, cudaStream_t stream), (handle, stream))
#endif
