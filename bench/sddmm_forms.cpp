#include "bench/sddmm_forms.h"

#include "ops/sparse/graph_plans.h"

namespace rodeo::bench {

bool has_sddmm_form(SddmmForm form, std::int64_t n) {
  const bool two_loads = (n > 32 && n <= 64) || n > 128;  // 16 bytes each, of a lane
  return n % 4 == 0 && n <= 256 && (form != SddmmForm::kPipelined8 || two_loads);
}

std::vector<Kernel> sddmm_forms() {
  std::vector<Kernel> kernels;
  const auto add = [&](const char* name, SddmmForm form, const RodeOptions& options) {
    kernels.push_back(
        {str(name, ", ", options), Op::kSddmm, [=](const Problem& p) -> Run {
           if (!p.adj.device().is_cuda() || p.dtype != DType::kF32 || !has_sddmm_form(form, p.n)) return {};
#if RODEO_WITH_CUDA
           return [p, form, options] {
             const Tensor out = Tensor::empty({p.adj.num_edges()}, DType::kF32, p.adj.device());
             run_sddmm_form(form, p.adj.csr(), rode_plan(p.adj, options), p.weight, p.b1, p.x, out);
             return out;
           };
#else
                         return {};
#endif
         }});
  };
  for (const RodeOptions& options : {RodeOptions{512, 32}, {128, 32}, {2048, 32}, {512, 8}, {512, 64}}) {
    add("batch", SddmmForm::kBatch, options);
    add("pipelined 4", SddmmForm::kPipelined4, options);
    if (options == RodeOptions{512, 32}) add("pipelined 8", SddmmForm::kPipelined8, options);
  }
  return kernels;
}

}  // namespace rodeo::bench
