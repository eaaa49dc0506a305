/// Numerical verification of outputs and gradients, for our ops and for yours.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "core/variable.h"

namespace rodeo {

/// The tolerances hold for functions whose values and derivatives are about 1. The central difference is off
/// by f''' step^2 / 6, here 1e-13, and by rounding, 2^-53 / step: 1e-10 for each output of 1 that the element
/// reaches (differences are taken output by output). So atol is a thousand times the noise, and a wrong term
/// of a gradient, which is off by a share of it, is a thousand times rtol and more. Where values are 1000 and
/// more, scale the function down, or atol up.
struct GradcheckOptions {
  double step = 1e-6;             // central difference: (L(x + step) - L(x - step)) / (2 step)
  double rtol = 1e-6;             // an element passes if |analytic - numeric| <= atol + rtol |numeric|
  double atol = 1e-7;             //   (a NaN on either side never passes)
  std::uint64_t seed = 0;         // of the projections, and of the elements that max_elements picks
  std::int64_t max_elements = 0;  // of each input: so many, picked at random, stand for all of them; 0: all
  std::vector<std::string> names = {};  // of the inputs, for messages; default "input 0", "input 1", ...
  std::vector<Tensor> expected = {};  // f64, what each output must be within the tolerances; empty: anything
};

/// What was found about one input.
struct GradcheckInput {
  std::string name;
  Shape shape;
  bool constant = false;     // requires no gradient: held as it is
  std::int64_t checked = 0;  // elements
  std::int64_t wrong = 0;    // of these
  // The element that is worst, relative to its tolerance; where checked is above 0.
  std::string element = {};  // "[1, 2]"
  double analytic = 0, numeric = 0;
  double relative_error = 0;      // |analytic - numeric| / the larger of the two
  double share_of_tolerance = 0;  // above 1: wrong; infinity: not a number
};

struct GradcheckResult {
  bool ok = true;
  std::string message = {};                 // what is wrong, the worst first; empty when ok
  std::vector<GradcheckInput> inputs = {};  // empty where the function itself is at fault
  explicit operator bool() const { return ok; }
};
/// A table with a line for each input, and the message.
std::ostream& operator<<(std::ostream& out, const GradcheckResult& result);

/// Compares the gradients that `f` records with central differences of L(x) = sum over outputs y of <r, y>,
/// where r is a fixed random tensor of y's shape: a plain sum would be blind to functions like softmax whose
/// outputs sum to a constant.
///   inputs   leaves, on any device. Those with requires_grad() are f64 and are checked; the others, of any
///            dtype, labels and indices for instance, are declared constant by it. Checked inputs share no
///            memory.
///   outputs  those that require a gradient are f64; all must be finite, and as options.expected says
/// f must be deterministic, which is checked: two evaluations must agree to the bit, in their outputs and in
/// their gradients, and leave the inputs alone. f may read the inputs' memory by other handles, such as the
/// parameters of a layer: elements are changed in place. An input that f ignores has gradient zero.
/// A function is not differentiable where ReLU's argument is 0, say; where the slopes on the two sides of an
/// element that fails differ, the message says so.
/// Deterministic. Values of the inputs are restored, also when f throws; their gradients are zeroed.
/// Throws rodeo::Error for inputs, outputs or options that break these rules, not for a wrong gradient.
GradcheckResult gradcheck(const std::function<Variable(const std::vector<Variable>&)>& f,
                          std::vector<Variable> inputs, const GradcheckOptions& options = {});
/// The same for a function with several outputs.
GradcheckResult gradcheck(const std::function<std::vector<Variable>(const std::vector<Variable>&)>& f,
                          std::vector<Variable> inputs, const GradcheckOptions& options = {});

}  // namespace rodeo
