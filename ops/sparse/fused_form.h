/// What dot_attention and gatv2_attention share: the choice of a form, and checks of what forward kept.
#pragma once

#include <string_view>
#include <utility>

#include "core/tensor.h"
#include "core/variable.h"
#include "ops/attention_types.h"

namespace rodeo {

/// Whether heads of `columns` elements are computed in the fused form. Throws Error where that was asked for
/// and the device has none.
bool takes_fused_form(std::string_view op, const Tensor& x, std::int64_t columns, AttentionForm form);
/// y and lse of forward: memory to write, or, where `empty`, their values. lse only if it is to be kept.
std::pair<Tensor, Tensor> attention_outputs(const Tensor& like, const Shape& y, bool empty, bool keep_lse);
/// Throws Error unless y, lse and dy are what backward reads.   shape: [rows, heads, m]
void check_attention_state(std::string_view op, const Tensor& y, const Tensor& lse, const Tensor& dy,
                           const Tensor& like, const Shape& shape);
/// Memory for the gradient of `of`: zeros where `empty`, undefined where `of` is.
Tensor gradient_memory(const Tensor& of, bool empty);
Tensor value_or_undefined(const Variable& x);
bool needs_gradient(const Variable& x);

}  // namespace rodeo
