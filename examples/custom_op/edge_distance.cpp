#include "edge_distance.h"

#include "rodeo/core/context.h"
#include "rodeo/ops/checks.h"
#include "rodeo/ops/convert.h"
#include "rodeo/ops/dense.h"
#include "rodeo/ops/edge_sum.h"
#include "rodeo/ops/gcn_norm.h"
#include "rodeo/ops/spmm.h"

using namespace rodeo;

#if WITH_KERNEL
// In edge_distance.cu. Returns an error message, or null. CUstream_st* is cudaStream_t.
template <class T>
const char* launch_edge_distance(const std::int32_t* row, const std::int32_t* col, const T* x,
                                 std::int64_t edges, std::int64_t k, T* d, CUstream_st* stream);
#endif

namespace {

template <class T>
void compute(const Tensor& row, const Tensor& col, const Tensor& x, const Tensor& d) {
  const std::int64_t k = x.dim(1);
  const auto *i = row.data<std::int32_t>(), *j = col.data<std::int32_t>();
  if (x.device().is_cuda()) {
#if WITH_KERNEL
    const char* problem =
        launch_edge_distance(i, j, x.data<T>(), d.numel(), k, d.data<T>(), Context::of(x.device()).stream());
    check(problem == nullptr, "[edge_distance] ", problem == nullptr ? "" : problem);
#else
    fail("[edge_distance] was built without nvcc: x must be on the CPU, got ", x.device());
#endif
    return;
  }
  for (std::int64_t e = 0; e < d.numel(); ++e) {
    T sum = 0;
    for (std::int64_t c = 0; c < k; ++c) {
      const T difference = x.data<T>()[i[e] * k + c] - x.data<T>()[j[e] * k + c];
      sum += difference * difference;
    }
    d.data<T>()[e] = sum;
  }
}

}  // namespace

Tensor edge_distance(const Adjacency& adj, const Tensor& x) {
  check_matrix("edge_distance", "x", x);
  check_on_device_of("edge_distance", adj, "x", x);
  check(adj.rows() == adj.cols(), "[edge_distance] the graph must be square, got ", adj.rows(), " x ",
        adj.cols());
  check(x.dim(0) == adj.rows(), "[edge_distance] x must be [", adj.rows(), ", k], got ", x.shape());
  check(x.dtype() == DType::kF32 || x.dtype() == DType::kF64, "[edge_distance] x must be f32 or f64, got ",
        x.dtype());
  const Tensor d = Tensor::empty({adj.num_edges()}, x.dtype(), x.device());
  if (d.numel() == 0) return d;
  const Tensor row = edge_rows(adj);
  if (x.dtype() == DType::kF64)
    compute<double>(row, adj.csr().col, x, d);
  else
    compute<float>(row, adj.csr().col, x, d);
  return d;
}

// The gradient is algebra on operators of the library, so it needs no kernel of its own.
Variable edge_distance(const Adjacency& adj, const Variable& x) {
  return record("edge_distance", edge_distance(adj, x.value()), {x}, [=, x = x.value()](const Tensor& dd) {
    const auto times = [&](double factor) {
      const Tensor factors = Tensor::full({dd.numel()}, factor, dd.dtype(), dd.device());
      return scale_rows(dd.reshape({dd.numel(), 1}), factors).reshape({dd.numel()});
    };
    const Transposed t = transpose(adj);
    const Tensor s = times(2), minus_s = times(-2);
    const Tensor sums = add(edge_sum(adj, s), edge_sum(t.adj, s, t.edge_ids));
    const Tensor both = add(spmm(adj, minus_s, x), spmm(t.adj, take(minus_s, t.edge_ids), x));
    return std::vector{add(scale_rows(x, sums), both)};
  });
}
