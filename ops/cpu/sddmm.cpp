#include "ops/cpu/dot.h"
#include "ops/cpu/edges.h"
#include "ops/kernels/sparse.h"

namespace rodeo::kernels::cpu {
namespace {

template <class T>
const T* data_or_null(const Tensor& tensor) {
  return tensor.defined() ? tensor.data<T>() : nullptr;
}

}  // namespace

void sddmm_dot(const Adjacency& adj, const Tensor& weight, const Tensor& b1, const Tensor& b2,
               SddmmAlgorithm /*algorithm*/, const Tensor& out) {
  dispatch_float(b1.dtype(), "sddmm", [&]<class T>(T) {
    const auto* col = adj.csr().col.data<std::int32_t>();
    const T *x = b1.data<T>(), *z = b2.data<T>(), *w = data_or_null<T>(weight);
    T* s = out.data<T>();
    const std::int64_t heads = b1.dim(1), k = b1.dim(2), n = heads * k, edges = adj.num_edges();
    for_each_row_part(adj.csr(), heads * k, [=](std::int64_t row, std::int64_t begin, std::int64_t end) {
      for (std::int64_t e = begin; e < end; ++e) {
        if (e + kAhead < edges) prefetch(z + col[e + kAhead] * n, n);
        const Accumulator<T> scale = w ? load(w[e]) : 1;
        for (std::int64_t h = 0; h < heads; ++h)
          s[e * heads + h] =
              T(scale * inner_product(x + (row * heads + h) * k, z + (col[e] * heads + h) * k, k));
      }
    });
  });
}

void sddmm_elementwise(const Adjacency& adj, const Tensor& weight, const Tensor& b1, const Tensor& b2,
                       SddmmOp op, const Tensor& out) {
  dispatch_float(b1.dtype(), "sddmm", [&]<class T>(T) {
    const auto* col = adj.csr().col.data<std::int32_t>();
    const T *x = b1.data<T>(), *z = b2.data<T>(), *w = data_or_null<T>(weight);
    T* s = out.data<T>();
    const std::int64_t k = b1.dim(1);
    const bool multiply = op == SddmmOp::kMul;
    for_each_row_part(adj.csr(), k, [=](std::int64_t row, std::int64_t begin, std::int64_t end) {
      const T* own = x + row * k;
      for (std::int64_t e = begin; e < end; ++e) {
        const T* other = z + col[e] * k;
        const Accumulator<T> scale = w ? load(w[e]) : 1;
        for (std::int64_t j = 0; j < k; ++j) {
          const Accumulator<T> u = load(own[j]), v = load(other[j]);
          s[e * k + j] = T(scale * (multiply ? u * v : u + v));
        }
      }
    });
  });
}

}  // namespace rodeo::kernels::cpu
