#include "ops/optim.h"

#include "ops/checks.h"
#include "ops/kernels/optim.h"

namespace rodeo {

void adam_step(const std::vector<AdamUpdate>& updates, const Tensor& steps, const Tensor& lr) {
  check(lr.defined() && lr.dtype() == DType::kF64 && lr.rank() == 1, "[adam_step] lr must be f64 [slots]");
  const std::int64_t slots = lr.dim(0);
  check(steps.defined() && steps.dtype() == DType::kI64 && steps.shape() == Shape{slots + 1},
        "[adam_step] steps must be i64 [", slots + 1, "]: one entry more than lr has");
  check(steps.device() == lr.device(), "[adam_step] steps must be on ", lr.device(), " as lr is, got ",
        steps.device());
  std::vector<bool> seen(static_cast<std::size_t>(slots));
  for (const AdamUpdate& u : updates) {
    check(u.p.defined() && (u.p.dtype() == DType::kF32 || u.p.dtype() == DType::kF64),
          "[adam_step] p must be f32 or f64");
    check(u.p.device() == lr.device(), "[adam_step] p must be on ", lr.device(), " as lr is, got ",
          u.p.device());
    const auto check_like_p = [&](std::string_view what, const Tensor& x) {
      check_alike("adam_step", "p", u.p, what, x);
      check_shape("adam_step", what, x, u.p.shape());
    };
    check_like_p("g", u.g);
    check_like_p("m", u.m);
    check_like_p("v", u.v);
    check(u.slot >= 0 && u.slot < slots, "[adam_step] slot must be in [0, ", slots, "), got ", u.slot);
    check(!seen[static_cast<std::size_t>(u.slot)], "[adam_step] slot ", u.slot, " is there twice");
    seen[static_cast<std::size_t>(u.slot)] = true;
  }
  kernels::adam_step.on(lr.device())(updates, steps, lr);
}

}  // namespace rodeo
