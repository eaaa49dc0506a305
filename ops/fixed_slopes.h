/// Gradients of elementwise maps whose slopes do not depend on what is differentiated, such as masks and
/// scales.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "core/variable.h"

namespace rodeo {

/// Records y, the result of such a map of x. times_slopes(dy), a Tensor, is its gradient, and its own
/// gradient: all derivatives exist.
template <typename TimesSlopes>
Variable record_fixed_slopes(std::string_view op, Tensor y, const Variable& x, TimesSlopes times_slopes) {
  struct Rule {
    std::string_view op;
    TimesSlopes times_slopes;
    std::vector<Tensor> operator()(const Tensor& dy) const { return {times_slopes(dy)}; }
    std::vector<Variable> operator()(const Variable& dy) const {
      return {record_fixed_slopes(op, times_slopes(dy.value()), dy, times_slopes)};
    }
  };
  return record(op, std::move(y), {x}, Rule{op, std::move(times_slopes)});
}

}  // namespace rodeo
