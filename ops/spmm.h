/// Sparse matrix times dense matrix.
#pragma once

#include <iosfwd>
#include <string_view>

#include "core/adjacency.h"
#include "core/variable.h"

namespace rodeo {

enum class SpmmAlgorithm {
  kAuto,  // on CUDA the fastest by measurement, on the CPU a rule; see below. One column is spmv.h's
  kCsr,   // a group of threads per row
  kRode,  // rows decomposed into block and residual parts (Pang et al., RoDe, PPoPP 2024); see
          // docs/kernels.md
  kTca,   // tensor cores (TCA-SpMM; see docs/kernels.md). CUDA only, one head. bf16 and f16; f32 is rounded
          // to TF32, 10 bits of mantissa, which nothing but asking for kTca by name allows; f64 is an Error
  kCusparse,  // NVIDIA's library, its default algorithm, whose last bits may differ from run to run; CUDA
              // only, one head, at most 2^31 - 1 edges and no more than rows x cols
};
std::string_view name(SpmmAlgorithm algorithm);
std::ostream& operator<<(std::ostream& out, SpmmAlgorithm algorithm);
/// "auto", "csr", "rode", "tca" or "cusparse"; throws Error for anything else, naming the choices.
SpmmAlgorithm parse_spmm_algorithm(std::string_view text);

/// How the sums of a row that is cut into pieces meet.
enum class Accumulate {
  kOrdered,  // in a fixed order: the same bits every time
  kAtomic,  // by atomicAdd, as published: the last bits may differ from run to run. CUDA, f32 and f64; kRode,
            // or kAuto, which then takes cuSPARSE into account
};

/// What becomes of the products weight[e] * x[col(e)] of a row's edges, column by column, as in PyTorch's
/// scatter_reduce and in torch_sparse. A row without edges is zero in all of them.
enum class Reduce {
  kSum,
  kMean,  // the sum divided by the number of the row's edges, whatever their weights
  kMax,   // NaN where there is one
  kMin,
};
std::string_view name(Reduce reduce);
std::ostream& operator<<(std::ostream& out, Reduce reduce);
/// "sum", "mean", "max" or "min"; throws Error for anything else, naming the choices.
Reduce parse_reduce(std::string_view text);

struct SpmmOptions {
  SpmmAlgorithm algorithm = SpmmAlgorithm::kAuto;
  Accumulate accumulate = Accumulate::kOrdered;
  Reduce reduce = Reduce::kSum;
};

/// Sparse-dense product  Y = A X.
///   weight  [edges]     in adj's edge order; omit it for an unweighted sum
///   x       [cols, n]   any n >= 0; f64, f32, bf16 or f16, same dtype and device as weight and adj
///   returns [rows, n]   rows without edges are zero; 16-bit types are summed in f32
/// With several heads, every head has weights of its own:
///   weight  [edges, heads],  x [cols, heads, n],  returns [rows, heads, n]
/// Gradients: dX = A^T dY,  dweight = (dY X^T) at A's edges (see sddmm.h).
///
/// options.reduce puts another reduction in the place of the sum. kMean is the sum by the same algorithms and
/// a row scale: the same gradients of the scaled dY; 16-bit types are converted to f32 and rounded once.
/// kMax and kMin have a kernel of their own, so algorithm and accumulate keep their defaults, and a row may
/// have at most 2^31 - 1 edges. dY[i, j] goes to one edge e, the first in the row's edge order that attains
/// the extremum (with NaN, the first NaN):  dx[col(e), j] += weight[e] dY[i, j],  dweight[e] += sum over such
/// j of dY[i, j] x[col(e), j].  Those edges are kept for the gradient: 4 bytes for each element of Y.
/// Throws rodeo::Error when shapes, dtypes or devices disagree, or the algorithm cannot take the graph.
///
/// Deterministic: same inputs, same device, same bits, unless kAtomic or kCusparse is asked for; with kAuto
/// the bits are those of the algorithm it stands for. kAuto on the CPU is a rule on the row lengths, so the
/// same holds. On CUDA the first product of a graph, width, dtype and weighting times the candidates on its
/// own operands, for at most 50 ms (more when that loads cuSPARSE into the process), and takes kRode unless
/// another is faster by 10 %. That choice then stays: for the graph, for every equal graph in the process,
/// and for later runs of the same build on the same kind of GPU through a file in the user's cache folder
/// (core/cache_folder.h). Where that file is missing (the first run, a cache that is switched off or was
/// cleared, two first runs at once) two candidates near that margin may change places between runs, and the
/// last bits of the sums with them: name the algorithm where that matters, or where graphs are used only
/// once. In a CUDA graph capture nothing is timed: a choice that was not made before is kRode there.
/// explain_spmm (ops/spmm_tuner.h) tells what was chosen and why.
Tensor spmm(const Adjacency& adj, const Tensor& x, const SpmmOptions& options = {});
Tensor spmm(const Adjacency& adj, const Tensor& weight, const Tensor& x, const SpmmOptions& options = {});
Variable spmm(const Adjacency& adj, const Variable& x, const SpmmOptions& options = {});
Variable spmm(const Adjacency& adj, const Variable& weight, const Variable& x,
              const SpmmOptions& options = {});

}  // namespace rodeo
