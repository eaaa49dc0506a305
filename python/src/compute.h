/// How operators of rodeo._core give their results.
#pragma once

#include <initializer_list>
#include <optional>
#include <tuple>
#include <utility>

#include "arrays.h"

namespace rodeo::python {

/// The result of work() as an array like `like`, which was read as the first operand, or in `out`, which must
/// share no memory with the operands. `expected`: its shape, where that is known.
template <class Work>
nb::object compute(std::string_view op, nb::handle like, nb::handle out,
                   std::initializer_list<std::pair<const char*, const Tensor&>> operands,
                   const std::optional<Shape>& expected, Work&& work) {
  Results results(op, like, operands.begin()->second, out);
  for (const auto& [what, operand] : operands) results.apart_from(what, operand);
  if (expected) results.expect(*expected);
  const Tensor y = results.run(work);
  return results.give(y);
}

/// The results of work(), a std::tuple of tensors, as arrays like `like`, which was read as `first`; None for
/// those that are undefined. `expected`: the shape of one of them, where that is known.
template <class Work>
nb::tuple compute_all(std::string_view op, nb::handle like, const Tensor& first,
                      const std::optional<Shape>& expected, Work&& work) {
  Results results(op, like, first);
  if (expected) results.expect(*expected);
  const auto give = [&](const Tensor& y) { return y.defined() ? results.give(y) : nb::none(); };
  return std::apply([&](const auto&... y) { return nb::make_tuple(give(y)...); }, results.run(work));
}

}  // namespace rodeo::python
