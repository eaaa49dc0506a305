/// Forms of RoDe's SDDMM by rows, to measure what the text's pipeline brings: rows of B2 in two buffers, of
/// which one is loaded while the other is multiplied, as RoDe's SpMM has its dense rows. The plan's N_S and
/// N_B are options. CUDA, f32, one head, without slices of columns.
#pragma once

#include "bench/kernels.h"
#include "ops/plan/rode_plan.h"

namespace rodeo::bench {

enum class SddmmForm {
  kBatch,       // the library's: all rows of a step are loaded, then multiplied
  kPipelined4,  // two buffers of 4 loads of a lane, as many registers as kBatch
  kPipelined8,  // two buffers of 8; for 36 to 64 and 132 to 256 columns
};

/// "batch, split 512, block 32" and so on: the forms at 512 and 32, and kBatch and kPipelined4 at other
/// lengths.
std::vector<Kernel> sddmm_forms();

/// Whether a form exists for n columns: a multiple of 4, at most 256.
bool has_sddmm_form(SddmmForm form, std::int64_t n);
#if RODEO_WITH_CUDA
/// out [edges]; weight [edges] or undefined; b1 [rows, n], b2 [cols, n] from multiples of 16 bytes on.
void run_sddmm_form(SddmmForm form, const Csr& a, const RodePlan& plan, const Tensor& weight,
                    const Tensor& b1, const Tensor& b2, const Tensor& out);
#endif

}  // namespace rodeo::bench
