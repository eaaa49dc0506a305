#include "bench/experiments/text_forms.h"

#include "ops/convert.h"

namespace rodeo::bench {
namespace {

Kernel cuda_kernel(const std::string& name, [[maybe_unused]] std::function<Run(const Problem&)> prepare) {
  return {name, Op::kSpmv, [=](const Problem& p) -> Run {
            const bool given = p.adj.device().is_cuda() && p.dtype == DType::kF32 && p.weight.defined();
            return given ? prepare(p) : Run();
          }};
}

}  // namespace

std::vector<Kernel> printed_vector_kernels() {
  std::vector<Kernel> kernels;
  for (const int threads : {2, 4, 8, 16, 32})
    kernels.push_back(
        cuda_kernel(str("printed-", threads), [threads]([[maybe_unused]] const Problem& p) -> Run {
#if RODEO_WITH_CUDA
          return [p, threads] {
            const Tensor y = Tensor::empty({p.adj.rows()}, DType::kF32, p.adj.device());
            printed_vector_spmv(p.adj.csr(), p.weight, p.x, threads, y);
            return y;
          };
#else
      return {};
#endif
        }));
  return kernels;
}

Kernel serial_coo_kernel() {
  return cuda_kernel("coo-serial", []([[maybe_unused]] const Problem& p) -> Run {
#if RODEO_WITH_CUDA
    if (p.adj.num_edges() > kMostSerial) return {};
    return [p, edges = csr_to_coo(p.adj)] {
      const Tensor y = Tensor::zeros({p.adj.rows()}, DType::kF32, p.adj.device());
      serial_coo_spmv(edges, p.weight, p.x, y);
      return y;
    };
#else
    return {};
#endif
  });
}

}  // namespace rodeo::bench
