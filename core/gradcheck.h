/// Numerical verification of gradients, for our ops and for yours.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/variable.h"

namespace rodeo {

struct GradcheckOptions {
  double step = 1e-6;              // central difference: (f(x + step) - f(x - step)) / (2 step)
  double rtol = 1e-6;              // an element passes if |analytic - numeric| <= atol + rtol |numeric|
  double atol = 1e-7;              //   (a NaN on either side never passes)
  std::uint64_t seed = 0;          // of the random projection
  std::vector<std::string> names;  // of the inputs, for the message; default "input 0", "input 1", ...
};

struct GradcheckResult {
  bool ok = true;
  std::string message;  // the worst element: input, index, analytic, numeric; empty when ok
  explicit operator bool() const { return ok; }
};

/// Compares the gradients that `f` records with central differences of L(x) = <r, f(x)>, where r is a fixed
/// random tensor of f(x)'s shape: a plain sum would be blind to functions like softmax whose outputs sum to a
/// constant. Every input must be f64; those with requires_grad() are checked, the others are held constant.
/// `f` must be deterministic, which is checked: two evaluations must agree to the bit.
/// Values of the inputs are restored; their gradients are zeroed.
GradcheckResult gradcheck(const std::function<Variable(const std::vector<Variable>&)>& f,
                          std::vector<Variable> inputs, const GradcheckOptions& options = {});

}  // namespace rodeo
