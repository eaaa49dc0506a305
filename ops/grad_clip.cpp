#include "ops/grad_clip.h"

#include "ops/checks.h"
#include "ops/kernels/optim.h"

namespace rodeo {
namespace {

void check_all(std::string_view op, const std::vector<Tensor>& xs) {
  check(!xs.empty(), "[", op, "] needs at least one tensor");
  for (const Tensor& x : xs) {
    check(x.defined() && is_float(x.dtype()), "[", op, "] all tensors must be floating-point");
    check(x.device() == xs[0].device(), "[", op, "] all tensors must be on ", xs[0].device(),
          " as the first is, got ", x.device());
  }
}

}  // namespace

Tensor sum_squares(const std::vector<Tensor>& xs) {
  check_all("sum_squares", xs);
  const Tensor out = Tensor::empty({}, DType::kF64, xs[0].device());
  kernels::sum_squares.on(out.device())(xs, out);
  return out;
}

std::vector<Tensor> clip_norm(const std::vector<Tensor>& xs, double max_norm) {
  check_all("clip_norm", xs);
  check(max_norm > 0, "[clip_norm] max_norm must be above 0, got ", max_norm);
  std::vector<Tensor> ys;
  for (const Tensor& x : xs) {
    check(x.dtype() == DType::kF32 || x.dtype() == DType::kF64,
          "[clip_norm] tensors must be f32 or f64, got ", x.dtype());
    ys.push_back(Tensor::empty(x.shape(), x.dtype(), x.device()));
  }
  kernels::scale_to_norm.on(xs[0].device())(xs, sum_squares(xs), max_norm, ys);
  return ys;
}

}  // namespace rodeo
