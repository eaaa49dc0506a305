/// Sparse matrix times dense matrix.
#pragma once

#include <iosfwd>
#include <string_view>

#include "core/adjacency.h"
#include "core/variable.h"

namespace rodeo {

enum class SpmmAlgorithm {
  kAuto,  // chosen from the row lengths: kRode where rows are long or uneven, kCsr elsewhere; one column is
          // spmv.h's
  kCsr,   // a group of threads per row
  kRode,  // rows decomposed into block and residual parts (Pang et al., RoDe, PPoPP 2024); see
          // docs/kernels.md
};
std::string_view name(SpmmAlgorithm algorithm);
std::ostream& operator<<(std::ostream& out, SpmmAlgorithm algorithm);
/// "auto", "csr" or "rode"; throws Error for anything else, naming the choices.
SpmmAlgorithm parse_spmm_algorithm(std::string_view text);

/// How the sums of a row that is cut into pieces meet.
enum class Accumulate {
  kOrdered,  // in a fixed order: the same bits every time
  kAtomic,   // by atomicAdd, as published: the last bits may differ from run to run. CUDA, f32 and f64, kRode
};

struct SpmmOptions {
  SpmmAlgorithm algorithm = SpmmAlgorithm::kAuto;
  Accumulate accumulate = Accumulate::kOrdered;
};

/// Sparse-dense product  Y = A X.
///   weight  [edges]     in adj's edge order; omit it for an unweighted sum
///   x       [cols, n]   any n >= 0; f64, f32, bf16 or f16, same dtype and device as weight and adj
///   returns [rows, n]   rows without edges are zero; 16-bit types are summed in f32
/// With several heads, every head has weights of its own:
///   weight  [edges, heads],  x [cols, heads, n],  returns [rows, heads, n]
/// Gradients: dX = A^T dY,  dweight = (dY X^T) at A's edges (see sddmm.h).
/// Deterministic: same inputs, same device, same bits, with every algorithm, unless kAtomic is asked for.
/// Throws rodeo::Error when shapes, dtypes or devices disagree.
Tensor spmm(const Adjacency& adj, const Tensor& x, const SpmmOptions& options = {});
Tensor spmm(const Adjacency& adj, const Tensor& weight, const Tensor& x, const SpmmOptions& options = {});
Variable spmm(const Adjacency& adj, const Variable& x, const SpmmOptions& options = {});
Variable spmm(const Adjacency& adj, const Variable& weight, const Variable& x,
              const SpmmOptions& options = {});

/// What kAuto stands for on this graph.
SpmmAlgorithm choose_spmm_algorithm(const Adjacency& adj);

}  // namespace rodeo
