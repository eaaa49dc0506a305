// Y = A X by cuSPARSE's default algorithm. Its other algorithms are faster on some graphs, but the
// preprocessing of the third (12.6) writes out of bounds where rows are short or have duplicate columns. Row
// pointers and columns need the same width, so the row pointers are converted to 32 bits once. cuSPARSE
// always reads edge weights, so an unweighted sum gets weights of one, one array per dtype.
#include <cusparse.h>

#include <map>
#include <tuple>

#include "core/context.h"
#include "core/cuda/check_libraries.h"
#include "core/cuda/data_type.h"
#include "ops/kernels/sparse.h"

namespace rodeo::kernels {
namespace {

using rodeo::cuda::check_cusparse;
using rodeo::cuda::data_type;

constexpr cusparseSpMMAlg_t kAlgorithm = CUSPARSE_SPMM_ALG_DEFAULT;
constexpr cusparseOperation_t kAsIs = CUSPARSE_OPERATION_NON_TRANSPOSE;

// alpha and beta, in the type of the sums.
struct Scalars {
  double one64 = 1, zero64 = 0;
  float one32 = 1, zero32 = 0;
  bool wide;
  explicit Scalars(DType dtype) : wide(dtype == DType::kF64) {}
  const void* one() const { return wide ? static_cast<const void*>(&one64) : &one32; }
  const void* zero() const { return wide ? static_cast<const void*>(&zero64) : &zero32; }
  cudaDataType_t type() const { return wide ? CUDA_R_64F : CUDA_R_32F; }
};

cusparseDnMatDescr_t describe(const Tensor& t) {
  cusparseDnMatDescr_t matrix;
  check_cusparse(cusparseCreateDnMat(&matrix, t.dim(0), t.dim(1), t.dim(1), t.raw(), data_type(t.dtype()),
                                     CUSPARSE_ORDER_ROW),
                 "describing a dense matrix");
  return matrix;
}

// Descriptors and workspace of one CusparseGraph::Key.
struct Plan {
  cusparseSpMatDescr_t a = nullptr;
  cusparseDnMatDescr_t x = nullptr, y = nullptr;
  Tensor workspace;

  Plan() = default;
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  ~Plan() {
    if (a) cusparseDestroySpMat(a);
    if (x) cusparseDestroyDnMat(x);
    if (y) cusparseDestroyDnMat(y);
  }
};

bool aligned(const Tensor& t) {
  return reinterpret_cast<std::uintptr_t>(t.raw()) % 16 == 0;
}

}  // namespace

struct CusparseGraph {
  // Columns, dtype, whether X, Y and values are aligned; and the stream, which alone may use the workspace.
  using Key = std::tuple<std::int64_t, DType, bool, CUstream_st*>;
  Tensor row_ptr;                // i32 [rows + 1]
  std::map<DType, Tensor> ones;  // [edges]
  std::map<Key, std::unique_ptr<Plan>> plans;
};

namespace {

std::unique_ptr<Plan> make_plan(cusparseHandle_t handle, const Csr& a, const CusparseGraph& graph,
                                const Tensor& values, const Tensor& x, const Tensor& y) {
  auto plan = std::make_unique<Plan>();
  check_cusparse(cusparseCreateCsr(&plan->a, a.rows, a.cols, a.col.numel(), graph.row_ptr.raw(), a.col.raw(),
                                   values.raw(), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                                   CUSPARSE_INDEX_BASE_ZERO, data_type(x.dtype())),
                 "describing a graph");
  plan->x = describe(x);
  plan->y = describe(y);
  const Scalars scalars(x.dtype());
  std::size_t bytes = 0;
  check_cusparse(cusparseSpMM_bufferSize(handle, kAsIs, kAsIs, scalars.one(), plan->a, plan->x,
                                         scalars.zero(), plan->y, scalars.type(), kAlgorithm, &bytes),
                 "sizing a workspace");
  plan->workspace = Tensor::empty({static_cast<std::int64_t>(bytes)}, DType::kU8, y.device());
  return plan;
}

/// Inside a capture, arrays that are kept would belong to the CUDA graph and be filled at its first launch
/// only.
void check_may_keep(const Context& context) {
  check(
      !context.is_capturing(),
      "[spmm] cusparse cannot prepare a graph during CUDA graph capture: run the work once before capturing");
}

}  // namespace

void cuda::spmm_cusparse(const Csr& a, std::shared_ptr<CusparseGraph>& kept, const Tensor& weight,
                         const Tensor& x, const Tensor& y) {
  if (a.col.numel() == 0) return y.fill(0);
  Context& context = Context::of(y.device());
  if (!kept) {
    check_may_keep(context);
    kept = std::make_shared<CusparseGraph>();
    kept->row_ptr = a.row_ptr.to(DType::kI32);
  }
  Tensor values = weight;
  if (!weight.defined()) {
    Tensor& ones = kept->ones[x.dtype()];
    if (!ones.defined()) {
      check_may_keep(context);
      ones = Tensor::full({a.col.numel()}, 1, x.dtype(), y.device());
    }
    values = ones;
  }
  const CusparseGraph::Key key{x.dim(1), x.dtype(), aligned(x) && aligned(y) && aligned(values),
                               context.stream()};
  std::unique_ptr<Plan>& plan = kept->plans[key];
  if (!plan) {
    check_may_keep(context);
    plan = make_plan(context.cusparse(), a, *kept, values, x, y);
  }

  check_cusparse(cusparseSpMatSetValues(plan->a, values.raw()), "setting values");
  check_cusparse(cusparseDnMatSetValues(plan->x, x.raw()), "setting values");
  check_cusparse(cusparseDnMatSetValues(plan->y, y.raw()), "setting values");
  const Scalars scalars(x.dtype());
  check_cusparse(cusparseSpMM(context.cusparse(), kAsIs, kAsIs, scalars.one(), plan->a, plan->x,
                              scalars.zero(), plan->y, scalars.type(), kAlgorithm, plan->workspace.raw()),
                 "running a sparse product");
}

}  // namespace rodeo::kernels
