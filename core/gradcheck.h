/// Numerical verification of outputs and gradients.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "core/variable.h"

namespace rodeo {

/// The default tolerances are for functions whose values and derivatives are about 1. The central difference
/// has a truncation error of f''' step^2 / 6, about 1e-13, and a rounding error of 2^-53 / step, about 1e-10
/// for each output that depends on the element. atol is a thousand times that noise. If values are 1000 or
/// more, scale the function down or atol up.
struct GradcheckOptions {
  double step = 1e-6;                   // central difference: (L(x + step) - L(x - step)) / (2 step)
  double rtol = 1e-6;                   // an element passes if |analytic - numeric| <= atol + rtol |numeric|
  double atol = 1e-7;                   //   (a NaN on either side never passes)
  std::uint64_t seed = 0;               // of the projections and of the elements that max_elements selects
  std::int64_t max_elements = 0;        // checks this many random elements of each input; 0: all
  std::vector<std::string> names = {};  // of the inputs, for messages; default "input 0", "input 1", ...
  std::vector<Tensor> expected = {};    // f64, the expected outputs; empty: not checked
};

/// The result for one input.
struct GradcheckInput {
  std::string name;
  Shape shape;
  bool constant = false;     // requires no gradient, not checked
  std::int64_t checked = 0;  // number of elements
  std::int64_t wrong = 0;    // number of those that fail
  // The element with the largest error relative to its tolerance, if checked > 0.
  std::string element = {};  // "[1, 2]"
  double analytic = 0, numeric = 0;
  double relative_error = 0;      // |analytic - numeric| / the larger of the two
  double share_of_tolerance = 0;  // above 1: fails; infinity: NaN
};

struct GradcheckResult {
  bool ok = true;
  std::string message = {};                 // the worst failure; empty when ok
  std::vector<GradcheckInput> inputs = {};  // empty if the function itself breaks a rule
  explicit operator bool() const { return ok; }
};
/// A table with one row per input, then the message.
std::ostream& operator<<(std::ostream& out, const GradcheckResult& result);

/// Compares the gradients that `f` records with central differences of L(x) = sum over outputs y of <r, y>,
/// where r is a fixed random tensor of y's shape. A plain sum would not detect errors of functions such as
/// softmax, whose outputs sum to a constant.
///   inputs   leaves on any device. Those with requires_grad() must be f64 and are checked. The others
///   (labels,
///            indices) may have any dtype and are constant. Checked inputs must not share memory.
///   outputs  must be finite and equal options.expected; those that require a gradient must be f64
/// f must be deterministic and must not change its inputs. gradcheck verifies this: two evaluations must give
/// the same bits, in outputs and gradients. Elements are changed in place, so f may also read them through
/// other handles, such as the parameters of a layer. An input that f ignores has gradient zero. If the left
/// and right slopes of a failing element differ (ReLU at 0), the message says that the function may not be
/// differentiable there. Deterministic. Restores the inputs' values, also if f throws, and zeroes their
/// gradients. Throws Error for inputs, outputs or options that break these rules, but not for a wrong
/// gradient.
GradcheckResult gradcheck(const std::function<Variable(const std::vector<Variable>&)>& f,
                          std::vector<Variable> inputs, const GradcheckOptions& options = {});
/// Checks the gradients of a function with several outputs.
GradcheckResult gradcheck(const std::function<std::vector<Variable>(const std::vector<Variable>&)>& f,
                          std::vector<Variable> inputs, const GradcheckOptions& options = {});

/// Checks second derivatives: gradcheck of `gradients` (core/variable.h) of f, as a function of the inputs
/// and of the seed, whose name is "seed". f64 as there; expected is of the gradients. Throws Error, too,
/// where an op in f has no second derivative.
GradcheckResult gradgradcheck(const std::function<Variable(const std::vector<Variable>&)>& f,
                              std::vector<Variable> inputs, GradcheckOptions options = {});

}  // namespace rodeo
