/// Sparse matrix times dense matrix.
#pragma once

#include <iosfwd>
#include <string_view>

#include "core/adjacency.h"
#include "core/variable.h"

namespace rodeo {

enum class SpmmAlgorithm {
  kAuto,  // chosen from the row lengths: kRode where rows are long or uneven, kCsr elsewhere
  kCsr,   // a group of threads per row
  kRode,  // rows decomposed into block and residual parts (Pang et al., RoDe, PPoPP 2024); see
          // docs/kernels.md
  kTca,   // tensor cores (TCA-SpMM; see docs/kernels.md). CUDA only. bf16 and f16; f32 is rounded to TF32,
          // 10 bits of mantissa, which nothing but asking for kTca by name allows; f64 is an Error
};
std::string_view name(SpmmAlgorithm algorithm);
std::ostream& operator<<(std::ostream& out, SpmmAlgorithm algorithm);
/// "auto", "csr", "rode" or "tca"; throws Error for anything else, naming the choices.
SpmmAlgorithm parse_spmm_algorithm(std::string_view text);

struct SpmmOptions {
  SpmmAlgorithm algorithm = SpmmAlgorithm::kAuto;
};

/// Sparse-dense product  Y = A X.
///   weight  [edges]     in adj's edge order; omit it for an unweighted sum
///   x       [cols, n]   any n >= 0; f64, f32, bf16 or f16, same dtype and device as weight and adj
///   returns [rows, n]   rows without edges are zero; 16-bit types are summed in f32
/// Gradients: dX = A^T dY,  dweight = (dY X^T) at A's edges (see sddmm.h).
/// Deterministic: same inputs, same device, same bits, with every algorithm.
/// Throws rodeo::Error when shapes, dtypes or devices disagree, or the algorithm cannot take them.
Tensor spmm(const Adjacency& adj, const Tensor& x, const SpmmOptions& options = {});
Tensor spmm(const Adjacency& adj, const Tensor& weight, const Tensor& x, const SpmmOptions& options = {});
Variable spmm(const Adjacency& adj, const Variable& x, const SpmmOptions& options = {});
Variable spmm(const Adjacency& adj, const Variable& weight, const Variable& x,
              const SpmmOptions& options = {});

/// What kAuto stands for on this graph.
SpmmAlgorithm choose_spmm_algorithm(const Adjacency& adj);

}  // namespace rodeo
