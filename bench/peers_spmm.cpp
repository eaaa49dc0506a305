#include "bench/cusparse.h"
#include "bench/peers.h"

namespace rodeo::bench {
namespace {

constexpr cusparseOperation_t kAsIs = CUSPARSE_OPERATION_NON_TRANSPOSE;

Run prepare(const Problem& p, cusparseSpMMAlg_t algorithm, bool f32_out) {
  if (!p.x.device().is_cuda() || (f32_out && size_of(p.dtype) != 2)) return {};
  const Device device = p.x.device();
  const cusparseHandle_t handle = cusparse_handle(device);
  const cudaDataType compute = compute_type(p.dtype);
  const void *one = kOne.as(compute), *zero = kZero.as(compute);
  const Tensor y = Tensor::zeros({p.adj.rows(), p.n}, f32_out ? DType::kF32 : p.dtype, device);
  const SparseMatrix a = describe_csr(p.adj, values_of(p));
  const DenseMatrix dx = describe_matrix(p.x), dy = describe_matrix(y);

  std::size_t bytes = 0;
  check_cusparse(cusparseSpMM_bufferSize(handle, kAsIs, kAsIs, one, a.descriptor.get(), dx.get(), zero,
                                         dy.get(), compute, algorithm, &bytes),
                 "SpMM's workspace");
  const Tensor workspace = workspace_of(bytes, device);
  check_cusparse(cusparseSpMM_preprocess(handle, kAsIs, kAsIs, one, a.descriptor.get(), dx.get(), zero,
                                         dy.get(), compute, algorithm, workspace.raw()),
                 "SpMM's preprocessing");
  return [=, x = p.x] {  // the run keeps x, a and the workspace alive
    check_cusparse(cusparseSpMM(handle, kAsIs, kAsIs, one, a.descriptor.get(), dx.get(), zero, dy.get(),
                                compute, algorithm, workspace.raw()),
                   "SpMM");
    return y;
  };
}

}  // namespace

std::vector<Kernel> cusparse_spmm() {
  constexpr std::pair<const char*, cusparseSpMMAlg_t> kAlgorithms[] = {
      {"cusparse-default", CUSPARSE_SPMM_ALG_DEFAULT},
      {"cusparse-alg1", CUSPARSE_SPMM_CSR_ALG1},
      {"cusparse-alg2", CUSPARSE_SPMM_CSR_ALG2},
      {"cusparse-alg3", CUSPARSE_SPMM_CSR_ALG3}};
  std::vector<Kernel> kernels;
  for (const auto& [name, algorithm] : kAlgorithms)
    for (const bool f32_out : {false, true})
      kernels.push_back(
          {std::string(name) + (f32_out ? "-f32out" : ""), Op::kSpmm,
           [algorithm = algorithm, f32_out](const Problem& p) { return prepare(p, algorithm, f32_out); },
           /*peer=*/true});
  return kernels;
}

}  // namespace rodeo::bench
