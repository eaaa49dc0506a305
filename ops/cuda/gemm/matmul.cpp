// Row-major C = op(A) op(B) by cuBLASLt. cuBLASLt is column-major: it computes C^T = op(B)^T op(A)^T on the
// same memory. The algorithm that its heuristic chooses is cached per thread and problem.
#include "ops/cuda/gemm/lt_matmul.h"

#include <cublasLt.h>

#include <bit>
#include <cstdint>
#include <map>
#include <tuple>

#include "core/context.h"
#include "core/cuda/check_libraries.h"
#include "core/cuda/data_type.h"

namespace rodeo::kernels::cuda {
namespace {

using rodeo::cuda::check_cublas;
using rodeo::cuda::data_type;

cublasComputeType_t compute_type(DType dtype, bool tf32) {
  if (dtype == DType::kF64) return CUBLAS_COMPUTE_64F;
  return dtype == DType::kF32 && tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

// Largest power of two, up to 256, that divides the addresses of all matrices of a batch.
std::uint32_t alignment(const LtMatrix& x, DType dtype) {
  const auto address = reinterpret_cast<std::uintptr_t>(x.data) |
                       (static_cast<std::uintptr_t>(x.stride) * size_of(dtype)) | 256;
  return 1u << std::countr_zero(address);
}

struct Problem {
  std::int64_t m, n, k, lda, ldb, ldc;  // of cuBLASLt: C is m x n, column-major
  std::int64_t batch, stride_a, stride_b, stride_c;
  bool ta, tb, tf32;
  DType dtype, out;  // of A and B; of C
  int device;
  std::uint32_t align_a, align_b, align_c;
  auto key() const {
    return std::tie(m, n, k, lda, ldb, ldc, batch, stride_a, stride_b, stride_c, ta, tb, tf32, dtype, out,
                    device, align_a, align_b, align_c);
  }
  bool operator<(const Problem& other) const { return key() < other.key(); }
};

struct Product {
  cublasLtMatmulDesc_t desc;
  cublasLtMatrixLayout_t a, b, c;
  cublasLtMatmulAlgo_t algorithm;
};

cublasLtMatrixLayout_t make_layout(DType dtype, std::int64_t rows, std::int64_t cols, std::int64_t ld,
                                   std::int64_t batch, std::int64_t stride) {
  cublasLtMatrixLayout_t layout;
  check_cublas(cublasLtMatrixLayoutCreate(&layout, data_type(dtype), rows, cols, ld), "describing a matrix");
  if (batch == 1) return layout;
  const auto count = static_cast<std::int32_t>(batch);
  cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count);
  cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
                                   sizeof stride);
  return layout;
}

Product make_product(const Problem& p, Context& context) {
  Product product{};
  const cudaDataType_t scale = p.dtype == DType::kF64 ? CUDA_R_64F : CUDA_R_32F;
  check_cublas(cublasLtMatmulDescCreate(&product.desc, compute_type(p.dtype, p.tf32), scale),
               "describing a product");
  const cublasOperation_t opa = p.ta ? CUBLAS_OP_T : CUBLAS_OP_N, opb = p.tb ? CUBLAS_OP_T : CUBLAS_OP_N;
  cublasLtMatmulDescSetAttribute(product.desc, CUBLASLT_MATMUL_DESC_TRANSA, &opa, sizeof opa);
  cublasLtMatmulDescSetAttribute(product.desc, CUBLASLT_MATMUL_DESC_TRANSB, &opb, sizeof opb);
  product.a = make_layout(p.dtype, p.ta ? p.k : p.m, p.ta ? p.m : p.k, p.lda, p.batch, p.stride_a);
  product.b = make_layout(p.dtype, p.tb ? p.n : p.k, p.tb ? p.k : p.n, p.ldb, p.batch, p.stride_b);
  product.c = make_layout(p.out, p.m, p.n, p.ldc, p.batch, p.stride_c);

  cublasLtMatmulPreference_t preference;
  check_cublas(cublasLtMatmulPreferenceCreate(&preference), "making a preference");
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
    cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value);
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, Context::kWorkspaceBytes);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, p.align_a);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, p.align_b);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, p.align_c);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, p.align_c);
  cublasLtMatmulHeuristicResult_t best{};
  int found = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(context.cublaslt(), product.desc, product.a, product.b, product.c,
                                     product.c, preference, 1, &best, &found);
  cublasLtMatmulPreferenceDestroy(preference);
  check_cublas(status, "choosing an algorithm for a matrix product");
  check(found > 0, "[matmul] cuBLASLt has no algorithm for ", p.n, " x ", p.k, " x ", p.m, " in ", p.dtype);
  product.algorithm = best.algo;
  return product;
}

}  // namespace

void lt_matmul(const LtOperands& in, bool ta, bool tb, const MatmulSizes& sizes, bool adds, Device device) {
  Context& context = Context::of(device);
  const LtMatrix &a = in.a, &b = in.b, &c = in.c;
  const Problem problem{.m = sizes.n,
                        .n = sizes.m,
                        .k = sizes.k,
                        .lda = b.ld,
                        .ldb = a.ld,
                        .ldc = c.ld,
                        .batch = in.batch,
                        .stride_a = b.stride,
                        .stride_b = a.stride,
                        .stride_c = c.stride,
                        .ta = tb,
                        .tb = ta,
                        .tf32 = allow_tf32(),
                        .dtype = in.dtype,
                        .out = in.out,
                        .device = device.index,
                        .align_a = alignment(b, in.dtype),
                        .align_b = alignment(a, in.dtype),
                        .align_c = alignment(c, in.out)};
  thread_local std::map<Problem, Product> products;
  auto at = products.find(problem);
  if (at == products.end()) at = products.emplace(problem, make_product(problem, context)).first;
  const Product& product = at->second;

  const double one64 = 1, zero64 = 0;
  const float one32 = 1, zero32 = 0;
  const bool wide = in.out == DType::kF64;
  const void* one = wide ? static_cast<const void*>(&one64) : &one32;
  const void* zero = wide ? static_cast<const void*>(&zero64) : &zero32;
  check_cublas(cublasLtMatmul(context.cublaslt(), product.desc, one, b.data, product.a, a.data, product.b,
                              adds ? one : zero, c.data, product.c, c.data, product.c, &product.algorithm,
                              context.workspace(), Context::kWorkspaceBytes, context.stream()),
               "running a matrix product");
}

void matmul(const Tensor& a, const Tensor& b, bool ta, bool tb, const MatmulSizes& sizes, const Tensor& c) {
  if (sizes.k == 0) return c.fill(0);
  lt_matmul({.a = {a.raw(), a.dim(1)},
             .b = {b.raw(), b.dim(1)},
             .c = {c.raw(), c.dim(1)},
             .dtype = a.dtype(),
             .out = c.dtype()},
            ta, tb, sizes, false, c.device());
}

}  // namespace rodeo::kernels::cuda
