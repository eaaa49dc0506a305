#include "ops/sparse/fused_form.h"

#include <limits>

#include "ops/checks.h"
#include "ops/plan/attention_config.h"

namespace rodeo {

bool takes_fused_form(std::string_view op, const Tensor& x, std::int64_t columns, AttentionForm form) {
  const bool covered =
      !x.device().is_cuda() || columns <= most_fused_columns(static_cast<int>(size_of(x.dtype())));
  check(covered || form != AttentionForm::kFused, "[", op, "] the fused form on ", x.device(),
        " takes heads of at most ", most_fused_columns(static_cast<int>(size_of(x.dtype()))), " elements of ",
        x.dtype(), ", got ", columns, ": choose auto or composed");
  return covered && form != AttentionForm::kComposed;
}

std::pair<Tensor, Tensor> attention_outputs(const Tensor& like, const Shape& shape, bool empty,
                                            bool keep_lse) {
  const Shape heads{shape[0], shape[1]};
  const DType sums = sum_dtype(like.dtype());
  const Tensor y = empty ? Tensor::zeros(shape, like.dtype(), like.device())
                         : Tensor::empty(shape, like.dtype(), like.device());
  if (!keep_lse) return {y, Tensor()};
  const double largest =
      sums == DType::kF64 ? std::numeric_limits<double>::max() : double{std::numeric_limits<float>::max()};
  return {y, empty ? Tensor::full(heads, largest, sums, like.device())
                   : Tensor::empty(heads, sums, like.device())};
}

void check_attention_state(std::string_view op, const Tensor& y, const Tensor& lse, const Tensor& dy,
                           const Tensor& like, const Shape& shape) {
  for (const auto& [name, value] : {std::pair("y", y), {"dy", dy}}) {
    check(value.defined() && value.dtype() == like.dtype() && value.device() == like.device(), "[", op, "] ",
          name, " must be ", like.dtype(), " on ", like.device());
    check_shape(op, name, value, shape);
  }
  const DType sums = sum_dtype(like.dtype());
  check(lse.defined() && lse.dtype() == sums && lse.device() == like.device(), "[", op, "] lse must be ",
        sums, " on ", like.device());
  check_shape(op, "lse", lse, {shape[0], shape[1]});
}

Tensor gradient_memory(const Tensor& of, bool empty) {
  if (!of.defined()) return {};
  return empty ? Tensor::zeros(of.shape(), of.dtype(), of.device())
               : Tensor::empty(of.shape(), of.dtype(), of.device());
}

Tensor value_or_undefined(const Variable& x) {
  return x.defined() ? x.value() : Tensor();
}

bool needs_gradient(const Variable& x) {
  return x.defined() && x.requires_grad();
}

}  // namespace rodeo
