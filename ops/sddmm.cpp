#include "ops/sddmm.h"

#include "ops/checks.h"
#include "ops/kernels/sparse.h"
#include "ops/sddmm_tuner.h"
#include "ops/sparse/rank_graph.h"
#include "ops/sparse/shapes.h"
#include "ops/sparse/tuning_cache.h"

namespace rodeo {
namespace {

void check_operand(std::string_view what, const Tensor& b) {
  check(b.defined(), "[sddmm] ", what, " is undefined");
  check(b.rank() == 2 || b.rank() == 3, "[sddmm] ", what, " must be [m, k] or [m, heads, k], got ",
        b.shape());
  check(is_float(b.dtype()), "[sddmm] ", what, " must be floating point, got ", b.dtype());
}

Tensor with_heads(const Tensor& b) {
  return b.rank() == 3 ? b : b.reshape({b.dim(0), 1, b.dim(1)});
}

}  // namespace

Tensor sddmm(const Adjacency& graph, const Tensor& b1, const Tensor& own_b2, SddmmOp op, const Tensor& weight,
             const SddmmOptions& options) {
  const Adjacency& adj = rank_rows(graph);
  const Tensor b2 = rows_of_all_ranks(graph, own_b2);
  check_operand("b1", b1);
  check_alike("sddmm", "b1", b1, "b2", b2);
  check_on_device_of("sddmm", adj, "b1", b1);
  check_shape("sddmm", "b1", b1, with_rows(b1, adj.rows()));
  check_shape("sddmm", "b2", b2, with_rows(b1, adj.cols()));
  check(row_size(b1) <= std::int64_t{1} << 28, "[sddmm] a row of b1 must have at most 2^28 elements, got ",
        b1.shape());
  if (weight.defined()) {
    check_alike("sddmm", "b1", b1, "weight", weight);
    check_shape("sddmm", "weight", weight, {adj.num_edges()});
  }
  const std::int64_t edges = adj.num_edges(), k = b1.dim(b1.rank() - 1);
  const bool dot = op == SddmmOp::kDot, by_edges = options.algorithm == SddmmAlgorithm::kEdges;
  check(dot || !by_edges, "[sddmm] the edges algorithm computes dot products, got op ", op,
        ": leave the algorithm out");
  const Shape shape = !dot ? with_rows(b1, edges) : b1.rank() == 2 ? Shape{edges} : Shape{edges, b1.dim(1)};
  const Tensor out = Tensor::empty(shape, b1.dtype(), b1.device());
  if (out.numel() == 0) return out;
  if (dot && k == 0) {
    out.fill(0);
  } else if (dot && (k > 1 || by_edges)) {
    const auto run = [&](SddmmAlgorithm algorithm) {
      kernels::sddmm_dot.on(out.device())(adj, weight, with_heads(b1), with_heads(b2), algorithm,
                                          edge_matrix(out));
    };
    const SddmmProblem problem{b1.rank() == 2 ? 1 : b1.dim(1), k, b1.dtype(), weight.defined()};
    run(options.algorithm != SddmmAlgorithm::kAuto
            ? options.algorithm
            : choose_sddmm(adj, problem, run, SddmmTuningCache::of_process()));
  } else {  // a dot of one element is a product
    kernels::sddmm_elementwise.on(out.device())(adj, weight, as_matrix(b1), as_matrix(b2),
                                                dot ? SddmmOp::kMul : op, edge_matrix(out));
  }
  return out;
}

// The gradient is in ops/sparse/gradients.cpp.

}  // namespace rodeo
