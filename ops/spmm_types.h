/// Options of spmm (ops/spmm.h), which contracts, plans and kernel signatures share.
#pragma once

#include <compare>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>

#include "ops/sddmm_types.h"

namespace rodeo {

enum class SpmmAlgorithm {
  kAuto,    // CUDA: the fastest by measurement. CPU: a rule. See spmm.h. One column: spmv.h
  kCsr,     // a group of threads per row
  kRode,    // rows split into block and residual parts (Pang et al., RoDe, PPoPP 2024):
            // docs/kernels/spmm_rode.md
  kRodeTc,  // RoDe on tensor cores (docs/kernels/spmm_rode_tc.md). CUDA, bf16, f16 and f32, one head. f32 is
            // rounded to TF32 (10 bits of mantissa); kAuto never does that. f64 is an Error
  kTca,  // TCA-SpMM by the published mapping (Han et al., Electronics 13(20), 2024): dot products as traces
         // of tensor core products (docs/kernels/spmm_tca.md). Supports what kRodeTc supports
  kCusparse,  // cuSPARSE's default algorithm; its last bits may differ from run to run. CUDA, one head, at
              // most 2^31 - 1 edges and at most rows x cols
};
template <>
inline constexpr auto kEnumNames<SpmmAlgorithm> =
    enum_names<SpmmAlgorithm>({{SpmmAlgorithm::kAuto, "auto"},
                               {SpmmAlgorithm::kCsr, "csr"},
                               {SpmmAlgorithm::kRode, "rode"},
                               {SpmmAlgorithm::kRodeTc, "rode-tc"},
                               {SpmmAlgorithm::kTca, "tca"},
                               {SpmmAlgorithm::kCusparse, "cusparse"}},
                              "spmm algorithm");
/// One of these names. Throws Error for any other text and lists the choices.
inline SpmmAlgorithm parse_spmm_algorithm(std::string_view text) {
  return parse_name<SpmmAlgorithm>("", text);
}

/// How the partial sums of a split row are combined.
enum class Accumulate {
  kOrdered,  // in a fixed order: the same bits every time
  kAtomic,   // by atomicAdd, as published: the last bits may differ from run to run. CUDA, f32 and f64, for
             // kRode and kAuto; kAuto then considers cuSPARSE too
};
template <>
inline constexpr auto kEnumNames<Accumulate> = enum_names<Accumulate>({{Accumulate::kOrdered, "ordered"},
                                                                       {Accumulate::kAtomic, "atomic"}},
                                                                      "accumulation");

/// The two lengths of RoDe's row decomposition, in nonzeros (ops/plan/rode_plan.h).
struct RodeOptions {
  std::int64_t split = 0;   // N_S, of a piece: a multiple of block, at most 2^24. 0: by the number of edges
  std::int64_t block = 32;  // N_B: rows with at least this many are cut into pieces. 8, 16, 32 or 64
  auto operator<=>(const RodeOptions&) const = default;
};
/// "split 512, block 32", and "split by size, block 32"
std::ostream& operator<<(std::ostream& out, const RodeOptions& options);

/// The reduction over the messages weight[e] * x[col(e)] of a row's edges, column by column, as in PyTorch's
/// scatter_reduce and torch_sparse. A row without edges is zero in all of them.
enum class Reduce {
  kSum,
  kMean,  // the sum divided by the number of edges of the row, not by the sum of their weights
  kMax,   // NaN where any message is NaN
  kMin,
};
template <>
inline constexpr auto kEnumNames<Reduce> = enum_names<Reduce>(
    {{Reduce::kSum, "sum"}, {Reduce::kMean, "mean"}, {Reduce::kMax, "max"}, {Reduce::kMin, "min"}},
    "reduction");
/// One of these names. Throws Error for any other text and lists the choices.
inline Reduce parse_reduce(std::string_view text) {
  return parse_name<Reduce>("", text);
}

struct SpmmOptions {
  SpmmAlgorithm algorithm = SpmmAlgorithm::kAuto;
  Accumulate accumulate = Accumulate::kOrdered;
  Reduce reduce = Reduce::kSum;
  RodeOptions rode = {};    // for kRode and kRodeTc. Each value has its own plan, cached on the graph
  SddmmOptions sddmm = {};  // of the gradient of the edge weights of a sum or mean
};

}  // namespace rodeo
