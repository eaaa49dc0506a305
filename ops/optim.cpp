#include "ops/optim.h"

#include "ops/checks.h"
#include "ops/kernels.h"

namespace rodeo {

void adam_step(const Tensor& p, const Tensor& g, const Tensor& m, const Tensor& v, std::int64_t step,
               const AdamOptions& options) {
  check(p.defined() && (p.dtype() == DType::kF32 || p.dtype() == DType::kF64),
        "[adam_step] p must be f32 or f64");
  const auto check_like_p = [&](std::string_view what, const Tensor& x) {
    check_alike("adam_step", "p", p, what, x);
    check_shape("adam_step", what, x, p.shape());
  };
  check_like_p("g", g);
  check_like_p("m", m);
  check_like_p("v", v);
  check(step >= 1, "[adam_step] step counts from 1, got ", step);
  if (p.numel() > 0) kernels::adam_step.on(p.device())(p, g, m, v, step, options);
}

}  // namespace rodeo
