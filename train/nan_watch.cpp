#include "train/nan_watch.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "ops/grad_clip.h"

namespace rodeo {
namespace {

std::string describe(const Tensor& x, const NotFiniteCount& count) {
  return str(x.dtype(), " ", x.shape(), " with ", count.nan, " nan and ", count.infinite,
             " infinite, the first in element ", count.first);
}

/// Whether a later operand has the memory of operand i: a result in the place of an input.
bool is_overwritten(std::span<const Tensor> operands, std::size_t i) {
  return std::ranges::any_of(operands.subspan(i + 1),
                             [&](const Tensor& later) { return later.shares_memory_with(operands[i]); });
}

}  // namespace

NotFiniteCount count_not_finite(const Tensor& x) {
  NotFiniteCount count;
  const std::vector<double> values = x.to(kCpu).to(DType::kF64).to_vector<double>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) continue;
    ++(std::isnan(values[i]) ? count.nan : count.infinite);
    if (count.first < 0) count.first = static_cast<std::int64_t>(i);
  }
  return count;
}

void NanWatch::after(const KernelCallInfo& call) {
  if (std::string_view(call.op) == "fill") return;  // what it writes was asked for
  // Writes a part of its output: the rest is not there yet. What it copies was checked before.
  if (std::string_view(call.op) == "copy_columns") return;
  std::vector<Tensor> floats;
  for (const Tensor& x : call.operands)
    if (is_float(x.dtype()) && x.numel() > 0) floats.push_back(x);
  // On the device first; squares of f64 may overflow, hence the second look.
  if (floats.empty() || std::isfinite(sum_squares(floats).item())) return;
  for (std::size_t i = 0; i < call.operands.size(); ++i) {
    const Tensor& x = call.operands[i];
    if (!is_float(x.dtype()) || is_overwritten(call.operands, i)) continue;
    const NotFiniteCount count = count_not_finite(x);
    if (count.first < 0) continue;
    throw NotFinite(str("[debug] ", call.op,
                        call.gradient_of.empty() ? "" : str(", in the gradient of ", call.gradient_of, ","),
                        " left operand ", i + 1, " of ", call.operands.size(),
                        " not finite: ", describe(x, count)));
  }
}

void NanWatch::check(std::string_view name, const Tensor& x) {
  if (!x.defined() || !is_float(x.dtype()) || x.numel() == 0 || std::isfinite(sum_squares({x}).item()))
    return;
  const NotFiniteCount count = count_not_finite(x);
  if (count.first >= 0) throw NotFinite(str("[debug] ", name, " is not finite: ", describe(x, count)));
}

}  // namespace rodeo
