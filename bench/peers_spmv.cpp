#include "bench/cusparse.h"
#include "bench/peers.h"

namespace rodeo::bench {
namespace {

constexpr cusparseOperation_t kAsIs = CUSPARSE_OPERATION_NON_TRANSPOSE;

Run prepare(const Problem& p, cusparseSpMVAlg_t algorithm) {
  if (!p.x.device().is_cuda()) return {};
  const Device device = p.x.device();
  const cusparseHandle_t handle = cusparse_handle(device);
  const cudaDataType compute = compute_type(p.dtype);
  const void *one = kOne.as(compute), *zero = kZero.as(compute);
  const Tensor y = Tensor::zeros({p.adj.rows(), 1}, p.dtype, device);
  const SparseMatrix a = describe_csr(p.adj, values_of(p));
  const DenseVector dx = describe_vector(p.x), dy = describe_vector(y);

  std::size_t bytes = 0;
  check_cusparse(cusparseSpMV_bufferSize(handle, kAsIs, one, a.descriptor.get(), dx.get(), zero, dy.get(),
                                         compute, algorithm, &bytes),
                 "SpMV's workspace");
  const Tensor workspace = workspace_of(bytes, device);
#if CUSPARSE_VERSION >= 12400
  check_cusparse(cusparseSpMV_preprocess(handle, kAsIs, one, a.descriptor.get(), dx.get(), zero, dy.get(),
                                         compute, algorithm, workspace.raw()),
                 "SpMV's preprocessing");
#endif
  return [=, x = p.x] {
    check_cusparse(cusparseSpMV(handle, kAsIs, one, a.descriptor.get(), dx.get(), zero, dy.get(), compute,
                                algorithm, workspace.raw()),
                   "SpMV");
    return y;
  };
}

}  // namespace

std::vector<Kernel> cusparse_spmv() {
  constexpr std::pair<const char*, cusparseSpMVAlg_t> kAlgorithms[] = {
      {"cusparse-default", CUSPARSE_SPMV_ALG_DEFAULT},
      {"cusparse-alg1", CUSPARSE_SPMV_CSR_ALG1},
      {"cusparse-alg2", CUSPARSE_SPMV_CSR_ALG2}};
  std::vector<Kernel> kernels;
  for (const auto& [name, algorithm] : kAlgorithms)
    kernels.push_back({name, Op::kSpmv,
                       [algorithm = algorithm](const Problem& p) { return prepare(p, algorithm); },
                       /*peer=*/true});
  return kernels;
}

}  // namespace rodeo::bench
