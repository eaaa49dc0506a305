#include "ops/optim.h"

#include <limits>

#include "ops/checks.h"
#include "ops/index_checks.h"
#include "ops/kernels/optim.h"

namespace rodeo {
namespace {

constexpr std::int64_t kMostRows = std::numeric_limits<std::int32_t>::max();

/// The shape that AdamUpdate::g must have; checks its rows.
Shape gradient_shape(const AdamUpdate& u) {
  const Tensor& rows = u.rows;
  if (!rows.defined()) return u.p.shape();
  check(u.options.lazy, "[adam_step] rows are for options.lazy");
  check_matrix("adam_step", "p", u.p);
  check(u.p.dim(0) <= kMostRows && u.p.dim(1) <= kMostRows, "[adam_step] p with rows must have at most ",
        kMostRows, " rows and columns, got ", u.p.shape());
  check(rows.rank() == 1 && rows.dtype() == DType::kI64 && rows.device() == u.p.device(),
        "[adam_step] rows must be i64 [k] on ", u.p.device(), ", got ", rows.dtype(), " ", rows.shape(),
        " on ", rows.device());
  check_indices("adam_step", "rows", rows, u.p.dim(0));
  return {rows.dim(0), u.p.dim(1)};
}
Shape gradient_shape(const SgdUpdate& u) {
  return u.p.shape();
}

/// `op` begins the texts of errors. operands(update): name and value of each tensor that must be like p.
template <class Update, class Operands>
void check_updates(std::string_view op, const std::vector<Update>& updates, const Tensor& steps,
                   const Tensor& lr, Operands&& operands) {
  check(lr.defined() && lr.dtype() == DType::kF64 && lr.rank() == 1, "[", op, "] lr must be f64 [slots]");
  const std::int64_t slots = lr.dim(0);
  check(steps.defined() && steps.dtype() == DType::kI64 && steps.shape() == Shape{slots + 1}, "[", op,
        "] steps must be i64 [", slots + 1, "]: one entry more than lr has");
  check(steps.device() == lr.device(), "[", op, "] steps must be on ", lr.device(), " as lr is, got ",
        steps.device());
  std::vector<bool> seen(static_cast<std::size_t>(slots));
  for (const Update& u : updates) {
    check(u.p.defined() && (u.p.dtype() == DType::kF32 || u.p.dtype() == DType::kF64), "[", op,
          "] p must be f32 or f64");
    check(u.p.device() == lr.device(), "[", op, "] p must be on ", lr.device(), " as lr is, got ",
          u.p.device());
    for (const auto& [what, x] : operands(u)) {
      check_alike(op, "p", u.p, what, x);
      check_shape(op, what, x, what == "g" ? gradient_shape(u) : u.p.shape());
    }
    check(u.slot >= 0 && u.slot < slots, "[", op, "] slot must be in [0, ", slots, "), got ", u.slot);
    check(!seen[static_cast<std::size_t>(u.slot)], "[", op, "] slot ", u.slot, " is there twice");
    seen[static_cast<std::size_t>(u.slot)] = true;
  }
}

using Operands = std::vector<std::pair<std::string_view, Tensor>>;

}  // namespace

void adam_step(const std::vector<AdamUpdate>& updates, const Tensor& steps, const Tensor& lr) {
  check_updates("adam_step", updates, steps, lr, [](const AdamUpdate& u) {
    return Operands{{"g", u.g}, {"m", u.m}, {"v", u.v}};
  });
  kernels::adam_step.on(lr.device())(updates, steps, lr);
}

void sgd_step(const std::vector<SgdUpdate>& updates, const Tensor& steps, const Tensor& lr) {
  check_updates("sgd_step", updates, steps, lr, [](const SgdUpdate& u) {
    check(u.m.defined() || u.options.momentum == 0, "[sgd_step] momentum ", u.options.momentum,
          " needs m, the tensor that keeps it");
    return u.m.defined() ? Operands{{"g", u.g}, {"m", u.m}} : Operands{{"g", u.g}};
  });
  kernels::sgd_step.on(lr.device())(updates, steps, lr);
}

}  // namespace rodeo
