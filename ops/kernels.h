/// Every backend signature, once. This is the only place that knows whether CUDA is built in.
/// Kernels trust their arguments: shapes, dtypes and devices have been checked, outputs are allocated and not
/// initialised, and no tensor is empty unless said so. They overwrite their outputs whole.
/// What is small beside a matrix of 16-bit floats is f32, else of the matrix's dtype ("the sums' dtype"):
/// biases, scales of rows and columns, the vectors of heads, their gradients, sums of rows, and losses.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/adjacency.h"
#include "core/error.h"
#include "core/op_observer.h"
#include "core/random.h"
#include "core/tensor.h"
#include "ops/attention.h"
#include "ops/convert.h"
#include "ops/dense.h"
#include "ops/epilogue.h"
#include "ops/norm.h"
#include "ops/optim.h"
#include "ops/rode_plan.h"
#include "ops/sddmm.h"
#include "ops/spmm.h"

namespace rodeo::kernels {

/// Of weights [edges] or [edges, heads], which may be absent.
inline std::int64_t heads_of(const Tensor& weight) {
  return weight.defined() && weight.rank() == 2 ? weight.dim(1) : 1;
}

// The tensors among a kernel's arguments, for those who observe kernels.
template <class T>
void add_operands(std::vector<Tensor>&, const T&) {}
inline void add_operands(std::vector<Tensor>& all, const Tensor& x) {
  if (x.defined()) all.push_back(x);
}
inline void add_operands(std::vector<Tensor>& all, const Csr& a) {
  add_operands(all, a.row_ptr);
  add_operands(all, a.col);
}
inline void add_operands(std::vector<Tensor>& all, const Adjacency& a) {
  add_operands(all, a.csr());
}
inline void add_operands(std::vector<Tensor>& all, const std::vector<Tensor>& xs) {
  for (const Tensor& x : xs) add_operands(all, x);
}
inline void add_operands(std::vector<Tensor>& all, const std::vector<AdamUpdate>& updates) {
  for (const AdamUpdate& u : updates)
    for (const Tensor* x : {&u.g, &u.m, &u.v, &u.p}) add_operands(all, *x);
}

/// A kernel on one device. Who observes kernels (core/op_observer.h) sees it called.
template <class Function>
struct KernelCall;
template <class Result, class... Parameters>
struct KernelCall<Result(Parameters...)> {
  const char* name;
  Device device;
  Result (*function)(Parameters...);

  Result operator()(Parameters... arguments) const {
    if (!ops_observed()) [[likely]]
      return function(static_cast<Parameters>(arguments)...);
    std::vector<Tensor> operands;
    (add_operands(operands, arguments), ...);
    ObservedOp observed(name, device, std::move(operands));
    if constexpr (std::is_void_v<Result>) {
      function(static_cast<Parameters>(arguments)...);
      observed.done();
    } else {
      Result result = function(static_cast<Parameters>(arguments)...);
      observed.done();
      return result;
    }
  }
};

/// One operator on its backends:  kernels::relu.on(x.device())(x, y).
template <class Function>
struct Kernel {
  const char* name;
  Function* cpu;
  Function* cuda;
  KernelCall<Function> on(Device device) const {
    if (device.is_cuda() && cuda == nullptr) fail("[", device, "] ", cuda_absence_reason());
    return {name, device, device.is_cuda() ? cuda : cpu};
  }
};

#if RODEO_WITH_CUDA
#define RODEO_KERNEL(name, ...)               \
  namespace cpu {                             \
  std::type_identity_t<__VA_ARGS__> name;     \
  }                                           \
  namespace cuda {                            \
  std::type_identity_t<__VA_ARGS__> name;     \
  }                                           \
  inline constexpr Kernel<__VA_ARGS__> name { \
#name, &cpu::name, &cuda::name            \
  }
#else
#define RODEO_KERNEL(name, ...)               \
  namespace cpu {                             \
  std::type_identity_t<__VA_ARGS__> name;     \
  }                                           \
  inline constexpr Kernel<__VA_ARGS__> name { \
#name, &cpu::name, nullptr                \
  }
#endif

/// A kernel that the CPU has no use for: the caller has seen to it that the device is a CUDA one.
#if RODEO_WITH_CUDA
#define RODEO_CUDA_KERNEL(name, ...)          \
  namespace cuda {                            \
  std::type_identity_t<__VA_ARGS__> name;     \
  }                                           \
  inline constexpr Kernel<__VA_ARGS__> name { \
#name, nullptr, &cuda::name               \
  }
#else
#define RODEO_CUDA_KERNEL(name, ...)          \
  inline constexpr Kernel<__VA_ARGS__> name { \
#name, nullptr, nullptr                   \
  }
#endif

// dense.h
/// c [m, n] = op(a) op(b) with inner size k, which may be 0. A matrix may have more columns than its part in
/// the product: those of a and b are not read, those of c not written. Where a and b are 16-bit floats, c may
/// be f32.
struct MatmulSizes {
  std::int64_t m, n, k;
};
RODEO_KERNEL(matmul, void(const Tensor& a, const Tensor& b, bool ta, bool tb, const MatmulSizes& sizes,
                          const Tensor& c));
/// out[i, j] = x[i, j], or 0 from x's columns on; x f32 [m, n], out bf16 or f16 [m, columns].
RODEO_CUDA_KERNEL(cast_padded, void(const Tensor& x, const Tensor& out));
/// D(x)[i, j] = scale[i] dropout(x)[i, j]; scale undefined: 1.
struct DroppedMatrix {
  Tensor x;
  double p = 0;
  RandomKey key = {};
  Tensor scale = {};
  Tensor kept = {};  // i32 [m, ceil(k / 32)], a bit an element; undefined where p = 0 or nobody wants it
};
inline void add_operands(std::vector<Tensor>& all, const DroppedMatrix& x) {
  add_operands(all, x.x);
}
/// linear.h, in f32, for k and n that fit an int; fast for y of up to 64 columns. y [m, columns] = D(x) w +
/// bias, or with `transposed` D(x) w^T; bias may be undefined; zeros in y's columns from n on. Writes x.kept.
RODEO_CUDA_KERNEL(tall_matmul, void(const DroppedMatrix& x, const Tensor& w, bool transposed,
                                    const Tensor& bias, const Tensor& y));
/// dw [k, n] = D(x)^T dy, db [n] = sums of dy's columns, or undefined. dy may have columns from n on. What
/// was dropped is read from x.kept.
RODEO_CUDA_KERNEL(tall_matmul_transposed,
                  void(const DroppedMatrix& x, const Tensor& dy, const Tensor& dw, const Tensor& db));
/// The same on GPUs with wgmma, and with what follows: y = after dropout(f(D(x) w + bias)), f ReLU
/// or the identity; dropout for y of whole quads alone, n % 4 = 0. then.scale is not read: it is x's.
RODEO_CUDA_KERNEL(wgmma_matmul, void(const DroppedMatrix& x, const Tensor& w, bool transposed,
                                     const Tensor& bias, const EpilogueOptions& then, const Tensor& y));
/// Of y = after dropout(f(D(x) w + bias)): dw and db; y is undefined without ReLU, and there is no dropout
/// then.
RODEO_CUDA_KERNEL(wgmma_matmul_transposed,
                  void(const DroppedMatrix& x, const Tensor& y, const Tensor& dy, const EpilogueOptions& then,
                       const Tensor& dw, const Tensor& db));
RODEO_KERNEL(add_bias, void(const Tensor& x, const Tensor& b, const Tensor& y));
RODEO_KERNEL(sum_rows, void(const Tensor& x, const Tensor& out));  // x may have no rows
RODEO_KERNEL(relu, void(const Tensor& x, const Tensor& y));
RODEO_KERNEL(relu_backward, void(const Tensor& y, const Tensor& dy, const Tensor& dx));
RODEO_KERNEL(leaky_relu, void(const Tensor& x, double slope, const Tensor& y));
RODEO_KERNEL(leaky_relu_backward, void(const Tensor& y, const Tensor& dy, double slope, const Tensor& dx));
RODEO_KERNEL(elu, void(const Tensor& x, const Tensor& y));
RODEO_KERNEL(elu_backward, void(const Tensor& y, const Tensor& dy, const Tensor& dx));
RODEO_KERNEL(dropout, void(const Tensor& x, double p, RandomKey key, const Tensor& y));
RODEO_KERNEL(uniform, void(const Tensor& out, float lo, float hi, RandomKey key));

// epilogue.h; scale, bias and after may be undefined; x and dx [m, pitch], y and dy [m, n]
RODEO_KERNEL(epilogue,
             void(const Tensor& x, const Tensor& bias, const EpilogueOptions& options, const Tensor& y));
/// dx's columns from n on are zero. dx and db are undefined where nobody wants them, y where f is the
/// identity.
RODEO_KERNEL(epilogue_backward, void(const Tensor& y, const Tensor& dy, const EpilogueOptions& options,
                                     const Tensor& dx, const Tensor& db));

// gcn_norm.h
RODEO_KERNEL(scale_rows, void(const Tensor& x, const Tensor& s, const Tensor& y));
RODEO_KERNEL(normalize_rows, void(const Tensor& x, const Tensor& y));
RODEO_KERNEL(inverse_sqrt, void(const Tensor& x, const Tensor& y));  // 0 where x is not positive

// features.h; there are entries
/// y[e] = scale[row[e]] dropout(x[e]), the word of element (row[e], col[e]) of the matrix being that of
/// dropout on it, and transposed[place[e]] = y[e]. scale undefined: 1. y or transposed may be undefined.
RODEO_KERNEL(drop_entries,
             void(const Csr& a, const Tensor& row, const Tensor& place, const Tensor& x, const Tensor& scale,
                  double p, RandomKey key, const Tensor& y, const Tensor& transposed));
RODEO_KERNEL(normalize_entries, void(const Csr& a, const Tensor& x, const Tensor& y));

// bce.h
RODEO_KERNEL(bce_with_logits,
             void(const Tensor& x, const Tensor& target, const Tensor& index, const Tensor& loss));
RODEO_KERNEL(bce_with_logits_backward, void(const Tensor& dloss, const Tensor& x, const Tensor& target,
                                            const Tensor& index, const Tensor& dx));
// metrics [1, 2]; index may be empty
RODEO_KERNEL(label_metrics,
             void(const Tensor& x, const Tensor& target, const Tensor& index, const Tensor& metrics));

// loss.h
RODEO_KERNEL(log_softmax, void(const Tensor& x, const Tensor& y));
RODEO_KERNEL(log_softmax_backward, void(const Tensor& y, const Tensor& dy, const Tensor& dx));
RODEO_KERNEL(nll_loss,
             void(const Tensor& logp, const Tensor& label, const Tensor& index, const Tensor& loss));
RODEO_KERNEL(nll_loss_backward,
             void(const Tensor& dloss, const Tensor& label, const Tensor& index, const Tensor& dlogp));
RODEO_KERNEL(cross_entropy,
             void(const Tensor& logits, const Tensor& label, const Tensor& index, const Tensor& loss));
RODEO_KERNEL(cross_entropy_backward, void(const Tensor& dloss, const Tensor& logits, const Tensor& label,
                                          const Tensor& index, const Tensor& dlogits));
RODEO_KERNEL(node_metrics, void(const Tensor& scores, const Tensor& label, const std::vector<Tensor>& sets,
                                const Tensor& metrics));  // sets may be empty

// optim.h
/// out [] = the sum of all squares, in f64.
RODEO_KERNEL(sum_squares, void(const std::vector<Tensor>& xs, const Tensor& out));
/// ys = xs times min(1, max_norm / (sqrt(squares) + 1e-6))
RODEO_KERNEL(scale_to_norm, void(const std::vector<Tensor>& xs, const Tensor& squares, double max_norm,
                                 const std::vector<Tensor>& ys));
RODEO_KERNEL(adam_step, void(const std::vector<AdamUpdate>& updates, const Tensor& steps, const Tensor& lr));

// spmm.h; weight [edges] or [edges, heads], or undefined for an unweighted sum; heads and columns of x
// and y may be one dimension or two
RODEO_KERNEL(spmm_csr, void(const Csr& a, const Tensor& weight, const Tensor& x, const Tensor& y));
RODEO_KERNEL(spmm_rode, void(const Csr& a, const RodePlan& plan, Accumulate accumulate, const Tensor& weight,
                             const Tensor& x, const Tensor& y));
RODEO_KERNEL(rode_plan, RodePlan(const Csr& a, const Tensor& cluster,
                                 std::int64_t split));  // a may be empty, cluster undefined
RODEO_CUDA_KERNEL(spmm_tca, void(const Csr& a, const RodePlan& plan, const Tensor& weight, const Tensor& x,
                                 const Tensor& y));  // not f64
RODEO_KERNEL(cluster_rows, void(const Csr& a, const Tensor& cluster));
/// What cuSPARSE keeps of one graph: descriptors, workspaces, converted indices. Made by the first use.
struct CusparseGraph;
RODEO_CUDA_KERNEL(spmm_cusparse, void(const Csr& a, std::shared_ptr<CusparseGraph>& kept,
                                      const Tensor& weight, const Tensor& x, const Tensor& y));

// spmm.h, other reductions; weight [edges] or [edges, heads], or undefined; there are edges
/// sign 1 for the maximum, -1 for the minimum. arg i32 of y's shape, or undefined: the position in its row of
/// the edge that y is from, -1 in a row without edges.
RODEO_KERNEL(spmm_extreme, void(const Adjacency& adj, double sign, const Tensor& weight, const Tensor& x,
                                const Tensor& y, const Tensor& arg));
RODEO_KERNEL(spmm_extreme_dx, void(const Adjacency& adj, const Transposed& transposed, const Tensor& weight,
                                   const Tensor& arg, const Tensor& dy, const Tensor& dx));
/// rows i32 [edges]: the row of every edge.
RODEO_KERNEL(spmm_extreme_dweight, void(const Adjacency& adj, const Tensor& rows, const Tensor& arg,
                                        const Tensor& x, const Tensor& dy, const Tensor& dweight));
/// out[i] = 1 / the number of row i's edges, 0 for none; f32 or f64.
RODEO_KERNEL(inverse_row_length, void(const Csr& a, const Tensor& out));

// sddmm.h; weight [edges] or undefined
// b1 [rows, heads, k], b2 [cols, heads, k], out [edges, heads]
RODEO_KERNEL(sddmm_dot, void(const Adjacency& adj, const Tensor& weight, const Tensor& b1, const Tensor& b2,
                             const Tensor& out));
// b1 [rows, k], b2 [cols, k], out [edges, k]; kAdd or kMul
RODEO_KERNEL(sddmm_elementwise, void(const Adjacency& adj, const Tensor& weight, const Tensor& b1,
                                     const Tensor& b2, SddmmOp op, const Tensor& out));

// edge_dropout.h; x and y [edges, heads]
RODEO_KERNEL(edge_dropout, void(const Csr& a, const Tensor& x, double p, RandomKey key, const Tensor& y));
// edge_sum.h; x [edges, k], edge_ids [edges] or undefined, y [rows, k]
RODEO_KERNEL(edge_sum, void(const Adjacency& adj, const Tensor& x, const Tensor& edge_ids, const Tensor& y));

// spmv.h, segment_sum.h; weight is undefined for an unweighted sum
RODEO_KERNEL(spmv_vector, void(const Csr& a, const Tensor& weight, const Tensor& x, int threads_per_vector,
                               const Tensor& y));
RODEO_KERNEL(spmv_rode, void(const Csr& a, const RodePlan& plan, const Tensor& weight, const Tensor& x,
                             const Tensor& y));
RODEO_KERNEL(longest_row, std::int64_t(const Csr& a));  // there may be no edges
/// row is sorted; without col, x has one element per edge.
RODEO_KERNEL(segment_sum, void(const Tensor& row, const Tensor& col, const Tensor& weight, const Tensor& x,
                               const Tensor& y));
RODEO_KERNEL(first_descent, std::int64_t(const Tensor& ids));  // position of the first below the one before

// convert.h; any size may be 0
struct SortedEdges {
  Csr csr;
  Tensor edge_ids;  // undefined unless asked for
};
/// Position of the first id outside [0, limit), or -1.
RODEO_KERNEL(first_out_of_range, std::int64_t(const Tensor& ids, std::int64_t limit));
RODEO_KERNEL(coo_to_csr, SortedEdges(const Tensor& row, const Tensor& col, std::int64_t rows,
                                     std::int64_t cols, const CooOptions& options));
RODEO_KERNEL(edge_rows, void(const Csr& a, const Tensor& rows));
RODEO_KERNEL(first_unsorted_row, std::int64_t(const Csr& a));  // -1 where all are sorted by column
RODEO_KERNEL(add_self_loops, SortedEdges(const Csr& a));
RODEO_KERNEL(take, void(const Tensor& values, const Tensor& ids, double missing, const Tensor& out));
// Whether a square matrix with sorted rows has (col, row) as often as (row, col), for all edges. If so, ids
// i64 [edges], where defined, is filled: the edge that each edge is in the other direction.
RODEO_KERNEL(reverse_edges, bool(const Csr& a, const Tensor& ids));

// select_rows.h; row_ptr is the result's; edge_ids may be undefined; there are edges
RODEO_KERNEL(copy_rows, void(const Csr& a, const Tensor& rows, const Tensor& row_ptr, const Tensor& col,
                             const Tensor& edge_ids));

// graph_hash.h
RODEO_KERNEL(hash_values, std::uint64_t(const Tensor& values));  // i32 or i64; may be empty

// dense_csr.h; weight is undefined for an unweighted matrix
struct WeightedCsr {
  Csr csr;
  Tensor weight;
};
RODEO_KERNEL(dense_to_csr, WeightedCsr(const Tensor& x));  // x may be empty
RODEO_KERNEL(csr_to_dense, void(const Csr& a, const Tensor& weight, const Tensor& y));

// edge_softmax.h; adj and not its Csr alone, for the plan kept on it
RODEO_KERNEL(edge_softmax, void(const Adjacency& adj, const Tensor& score, const Tensor& y));
RODEO_KERNEL(edge_softmax_backward,
             void(const Adjacency& adj, const Tensor& y, const Tensor& dy, const Tensor& ds));

// norm.h; mean, rstd, dweight, dbias in the sums' dtype; weight and bias may be undefined
enum class NormAxis { kColumns, kRows };  // which of them mean and rstd belong to
/// running may have undefined members.
RODEO_KERNEL(batch_stats, void(const Tensor& x, double eps, double momentum, const RunningStats& running,
                               const Tensor& mean, const Tensor& rstd));
RODEO_KERNEL(row_stats, void(const Tensor& x, double eps, const Tensor& mean, const Tensor& rstd));
RODEO_KERNEL(normalize, void(const Tensor& x, const Tensor& mean, const Tensor& rstd, NormAxis axis,
                             const Tensor& weight, const Tensor& bias, const Tensor& y));
/// dweight[j] = sum over i of dy (x - mean) rstd, or of dy x without them;  dbias[j] = sum over i of dy.
RODEO_KERNEL(norm_sums, void(const Tensor& x, const Tensor& dy, const Tensor& mean, const Tensor& rstd,
                             NormAxis axis, const Tensor& dweight, const Tensor& dbias));
/// Without dweight, mean and rstd are constants.
RODEO_KERNEL(batch_norm_dx,
             void(const Tensor& x, const Tensor& dy, const Tensor& mean, const Tensor& rstd,
                  const Tensor& weight, const Tensor& dweight, const Tensor& dbias, const Tensor& dx));
RODEO_KERNEL(layer_norm_dx, void(const Tensor& x, const Tensor& dy, const Tensor& mean, const Tensor& rstd,
                                 const Tensor& weight, const Tensor& dx));
/// inverse [m]: 1 / max(|x|, eps), in the sums' dtype.
RODEO_KERNEL(l2_normalize, void(const Tensor& x, double eps, const Tensor& y, const Tensor& inverse));
RODEO_KERNEL(l2_normalize_backward,
             void(const Tensor& y, const Tensor& inverse, double eps, const Tensor& dy, const Tensor& dx));

// combine.h
/// out = (a + s) x + b y; s [1] and y may be undefined.
RODEO_KERNEL(scaled_sum,
             void(double a, const Tensor& s, const Tensor& x, double b, const Tensor& y, const Tensor& out));
RODEO_KERNEL(maximum, void(const Tensor& x, const Tensor& y, const Tensor& out));
RODEO_KERNEL(maximum_backward,
             void(const Tensor& x, const Tensor& y, const Tensor& dout, const Tensor& dx, const Tensor& dy));
/// Columns [begin, begin + count) of `from` to columns [at, at + count) of `to`.
RODEO_KERNEL(copy_columns, void(const Tensor& from, std::int64_t begin, std::int64_t count, const Tensor& to,
                                std::int64_t at));

// heads.h; x, dx [n, heads, k], a, da [heads, k], y, dy [n, heads] or, of head_mean, [n, k]
// With a second pair of operands where a2 or dy2 is defined, in the same pass over x.
RODEO_KERNEL(head_dot,
             void(const Tensor& x, const Tensor& a, const Tensor& y, const Tensor& a2, const Tensor& y2));
// dx = dy a; where dy2 is defined, dx += dy a + dy2 a2.
RODEO_KERNEL(head_outer,
             void(const Tensor& dy, const Tensor& a, const Tensor& dy2, const Tensor& a2, const Tensor& dx));
RODEO_KERNEL(head_dot_sum, void(const Tensor& dy, const Tensor& x, const Tensor& da, const Tensor& dy2,
                                const Tensor& da2));  // x may have no rows
RODEO_KERNEL(head_mean, void(const Tensor& x, const Tensor& y));
RODEO_KERNEL(head_mean_backward, void(const Tensor& dy, const Tensor& dx));

// attention.h; there are edges, and x has elements
/// What backward needs of forward. Undefined where nothing is recorded.
struct AttentionSaved {
  Tensor positive;  // [rows, heads, k], x's dtype: the part of y that edges of positive score contribute
  Tensor stat;  // [rows, heads, 3], the sums' dtype: the highest score; 1 / the sum of exp(score - highest),
                // or 0 for a row of none; the weights, before dropout, of edges of positive score
};
RODEO_KERNEL(gat_attention,
             void(const Adjacency& adj, const Tensor& s, const Tensor& t, const Tensor& x,
                  const AttentionOptions& options, const Tensor& y, const AttentionSaved& saved));
struct AttentionGradients {
  Tensor ds = {}, dt = {}, dx = {};
};
/// s = <x, dst> and t = <x, src> of a layer, and their gradients, [heads, k], the sums' dtype. Undefined
/// where s and t are operands of their own; else dx is that through s and t as well, and ds and dt are
/// undefined.
struct AttentionVectors {
  Tensor dst = {}, src = {}, d_dst = {}, d_src = {};
};
inline void add_operands(std::vector<Tensor>& all, const AttentionGradients& g) {
  for (const Tensor* x : {&g.ds, &g.dt, &g.dx}) add_operands(all, *x);
}
RODEO_KERNEL(gat_attention_backward,
             void(const Adjacency& transposed, const Tensor& s, const Tensor& t, const Tensor& x,
                  const AttentionOptions& options, const Tensor& y, const AttentionSaved& saved,
                  const Tensor& dy, const AttentionGradients& gradients, const AttentionVectors& vectors));

#undef RODEO_KERNEL
#undef RODEO_CUDA_KERNEL

}  // namespace rodeo::kernels
