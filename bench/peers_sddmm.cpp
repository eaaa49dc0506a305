#include "bench/cusparse.h"
#include "bench/peers.h"
#include "ops/scale_rows.h"

namespace rodeo::bench {
namespace {

constexpr cusparseOperation_t kAsIs = CUSPARSE_OPERATION_NON_TRANSPOSE;
constexpr cusparseOperation_t kTransposed = CUSPARSE_OPERATION_TRANSPOSE;
constexpr cusparseSDDMMAlg_t kAlgorithm = CUSPARSE_SDDMM_ALG_DEFAULT;

Run prepare(const Problem& p, bool weighted) {
  if (!p.x.device().is_cuda() || p.weight.defined() != weighted) return {};
  const Device device = p.x.device();
  const cusparseHandle_t handle = cusparse_handle(device);
  const cudaDataType compute = compute_type(p.dtype);
  const void *one = kOne.as(compute), *zero = kZero.as(compute);
  const Tensor s = Tensor::zeros({p.adj.num_edges()}, p.dtype, device);
  const SparseMatrix c = describe_csr(p.adj, s);
  const DenseMatrix b1 = describe_matrix(p.b1), b2 = describe_matrix(p.x);

  std::size_t bytes = 0;
  check_cusparse(cusparseSDDMM_bufferSize(handle, kAsIs, kTransposed, one, b1.get(), b2.get(), zero,
                                          c.descriptor.get(), compute, kAlgorithm, &bytes),
                 "SDDMM's workspace");
  const Tensor workspace = workspace_of(bytes, device);
  check_cusparse(cusparseSDDMM_preprocess(handle, kAsIs, kTransposed, one, b1.get(), b2.get(), zero,
                                          c.descriptor.get(), compute, kAlgorithm, workspace.raw()),
                 "SDDMM's preprocessing");
  return [=, operands = std::pair(p.b1, p.x), weight = p.weight] {
    check_cusparse(cusparseSDDMM(handle, kAsIs, kTransposed, one, b1.get(), b2.get(), zero,
                                 c.descriptor.get(), compute, kAlgorithm, workspace.raw()),
                   "SDDMM");
    return weighted ? scale_rows(s.reshape({s.numel(), 1}), weight).reshape({s.numel()}) : s;
  };
}

}  // namespace

std::vector<Kernel> cusparse_sddmm() {
  return {{"cusparse-default", Op::kSddmm, [](const Problem& p) { return prepare(p, false); }, /*peer=*/true},
          {"cusparse-default-scaled", Op::kSddmm, [](const Problem& p) { return prepare(p, true); },
           /*peer=*/true}};
}

}  // namespace rodeo::bench
