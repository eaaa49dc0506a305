#include "tests/bench/spmm_peer.h"

#if RODEO_WITH_CUDA
#include <cusparse.h>

#include "core/context.h"
#include "tests/bench/timing.h"

namespace rodeo::bench {
namespace {

void check_cusparse(cusparseStatus_t status, const char* what) {
  check(status == CUSPARSE_STATUS_SUCCESS, "[cusparse] ", what, ": ", cusparseGetErrorString(status));
}

}  // namespace

std::vector<Result> time_cusparse(const Adjacency& adj, const Tensor& x, int repeats) {
  if (!x.device().is_cuda()) return {};
  const Device device = x.device();
  cusparseHandle_t handle;
  check_cusparse(cusparseCreate(&handle), "creating a handle");
  check_cusparse(cusparseSetStream(handle, Context::of(device).stream()), "setting the stream");
  const Tensor row_ptr = adj.csr().row_ptr.to(DType::kI32);
  const Tensor values = Tensor::full({adj.num_edges()}, 1, DType::kF32, device);
  cusparseSpMatDescr_t a;
  check_cusparse(cusparseCreateCsr(&a, adj.rows(), adj.cols(), adj.num_edges(), row_ptr.raw(),
                                   adj.csr().col.raw(), values.raw(), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                                   CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F),
                 "describing A");

  std::vector<Result> results;
  const std::pair<const char*, cusparseSpMMAlg_t> algorithms[] = {{"cusparse", CUSPARSE_SPMM_ALG_DEFAULT},
                                                                  {"cusparse alg1", CUSPARSE_SPMM_CSR_ALG1},
                                                                  {"cusparse alg2", CUSPARSE_SPMM_CSR_ALG2},
                                                                  {"cusparse alg3", CUSPARSE_SPMM_CSR_ALG3}};
  for (const auto& [name, algorithm] : algorithms) {
    const Tensor y = Tensor::zeros({adj.rows(), x.dim(1)}, DType::kF32, device);
    cusparseDnMatDescr_t dx, dy;
    check_cusparse(
        cusparseCreateDnMat(&dx, x.dim(0), x.dim(1), x.dim(1), x.raw(), CUDA_R_32F, CUSPARSE_ORDER_ROW),
        "describing X");
    check_cusparse(
        cusparseCreateDnMat(&dy, y.dim(0), y.dim(1), y.dim(1), y.raw(), CUDA_R_32F, CUSPARSE_ORDER_ROW),
        "describing Y");
    const float one = 1, zero = 0;
    const cusparseOperation_t as_is = CUSPARSE_OPERATION_NON_TRANSPOSE;
    std::size_t bytes = 0;
    check_cusparse(
        cusparseSpMM_bufferSize(handle, as_is, as_is, &one, a, dx, &zero, dy, CUDA_R_32F, algorithm, &bytes),
        name);
    const Tensor workspace = Tensor::empty({static_cast<std::int64_t>(bytes)}, DType::kU8, device);
    check_cusparse(cusparseSpMM_preprocess(handle, as_is, as_is, &one, a, dx, &zero, dy, CUDA_R_32F,
                                           algorithm, workspace.raw()),
                   name);
    const double ms = median_milliseconds(device, repeats, [&] {
      check_cusparse(
          cusparseSpMM(handle, as_is, as_is, &one, a, dx, &zero, dy, CUDA_R_32F, algorithm, workspace.raw()),
          name);
    });
    results.push_back({name, y, ms});
    cusparseDestroyDnMat(dx);
    cusparseDestroyDnMat(dy);
  }
  cusparseDestroySpMat(a);
  cusparseDestroy(handle);
  return results;
}

}  // namespace rodeo::bench

#else

namespace rodeo::bench {
std::vector<Result> time_cusparse(const Adjacency&, const Tensor&, int) {
  return {};
}
}  // namespace rodeo::bench

#endif
