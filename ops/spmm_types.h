/// Options of spmm (ops/spmm.h), which contracts, plans and kernel signatures share.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

namespace rodeo {

enum class SpmmAlgorithm {
  kAuto,      // CUDA: the fastest by measurement. CPU: a rule. See spmm.h. One column: spmv.h
  kCsr,       // a group of threads per row
  kRode,      // rows split into block and residual parts (Pang et al., RoDe, PPoPP 2024):
              // docs/kernels/spmm_rode.md
  kTca,       // tensor cores (TCA-SpMM: docs/kernels/spmm_tca.md). CUDA, bf16, f16 and f32, one head. f32 is
              // rounded to TF32 (10 bits of mantissa); kAuto never does that. f64 is an Error
  kCusparse,  // cuSPARSE's default algorithm; its last bits may differ from run to run. CUDA, one head, at
              // most 2^31 - 1 edges and at most rows x cols
};
std::string_view name(SpmmAlgorithm algorithm);
std::ostream& operator<<(std::ostream& out, SpmmAlgorithm algorithm);
/// "auto, csr, ...", in the order of the table in ops/sparse/spmm_algorithms.cpp.
std::string spmm_algorithm_names(std::string_view separator = ", ");
/// One of these names. Throws Error for any other text and lists the choices.
SpmmAlgorithm parse_spmm_algorithm(std::string_view text);

/// How the partial sums of a split row are combined.
enum class Accumulate {
  kOrdered,  // in a fixed order: the same bits every time
  kAtomic,   // by atomicAdd, as published: the last bits may differ from run to run. CUDA, f32 and f64, for
             // kRode and kAuto; kAuto then considers cuSPARSE too
};

/// The reduction over the messages weight[e] * x[col(e)] of a row's edges, column by column, as in PyTorch's
/// scatter_reduce and torch_sparse. A row without edges is zero in all of them.
enum class Reduce {
  kSum,
  kMean,  // the sum divided by the number of edges of the row, not by the sum of their weights
  kMax,   // NaN where any message is NaN
  kMin,
};
std::string_view name(Reduce reduce);
std::ostream& operator<<(std::ostream& out, Reduce reduce);
/// "sum", "mean", "max" or "min". Throws Error for any other text and lists the choices.
Reduce parse_reduce(std::string_view text);

struct SpmmOptions {
  SpmmAlgorithm algorithm = SpmmAlgorithm::kAuto;
  Accumulate accumulate = Accumulate::kOrdered;
  Reduce reduce = Reduce::kSum;
};

}  // namespace rodeo
