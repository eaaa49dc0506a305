#include "core/gradcheck.h"

#include <cmath>
#include <cstring>
#include <utility>

#include "core/random.h"

namespace rodeo {
namespace {

using Function = std::function<Variable(const std::vector<Variable>&)>;

Tensor random_projection(const Tensor& y, std::uint64_t seed) {
  std::vector<double> r(static_cast<std::size_t>(y.numel()));
  for (std::size_t i = 0; i < r.size(); ++i) r[i] = 2.0 * to_unit(random_word(seed, 0, i)) - 1.0;
  return Tensor::from(r, y.shape(), y.device());
}

double project(const std::vector<double>& r, const Function& f, const std::vector<Variable>& inputs) {
  const NoGrad no_grad;
  const std::vector<double> y = f(inputs).value().to_vector<double>();
  double sum = 0;
  for (std::size_t i = 0; i < y.size(); ++i) sum += r[i] * y[i];
  return sum;
}

std::string element_name(std::int64_t at, const Shape& shape) {
  std::string text;
  for (int d = shape.rank() - 1; d >= 0; --d) {
    text = str(at % shape[d], text.empty() ? "" : ", ", text);
    at /= shape[d];
  }
  return "[" + text + "]";
}

}  // namespace

GradcheckResult gradcheck(const Function& f, std::vector<Variable> inputs, const GradcheckOptions& options) {
  for (std::size_t i = 0; i < inputs.size(); ++i)
    check(!inputs[i].requires_grad() || inputs[i].dtype() == DType::kF64, "[gradcheck] input ", i,
          " must be f64, got ", inputs[i].dtype(), ": differences of smaller floats are noise");
  for (Variable& input : inputs) input.zero_grad();

  const Variable y = f(inputs);
  check(y.dtype() == DType::kF64, "[gradcheck] the function must return f64, got ", y.dtype());
  const Tensor again = f(inputs).value();
  const std::vector<double> first = y.value().to_vector<double>(), second = again.to_vector<double>();
  if (first.size() != second.size() ||
      std::memcmp(first.data(), second.data(), first.size() * sizeof(double)) != 0)
    return {false, "the function is not deterministic: two evaluations of the same inputs differ"};

  const Tensor projection = random_projection(y.value(), options.seed);
  const std::vector<double> r = projection.to_vector<double>();
  if (!y.requires_grad()) return {false, "the function recorded no gradient for any input"};
  y.backward(projection);

  GradcheckResult result;
  double worst = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Variable& input = inputs[i];
    if (!input.requires_grad()) continue;
    std::vector<double> x = input.value().to_vector<double>();
    // A function that ignores an input leaves its gradient undefined: that is zero.
    const std::vector<double> analytic =
        input.grad().defined() ? input.grad().to_vector<double>() : std::vector<double>(x.size(), 0.0);
    const auto evaluate_at = [&](std::size_t e, double value) {
      const double kept = std::exchange(x[e], value);
      input.value().copy_from(Tensor::from(x, input.shape()));
      const double loss = project(r, f, inputs);
      x[e] = kept;
      return loss;
    };
    for (std::size_t e = 0; e < x.size(); ++e) {
      const double above = evaluate_at(e, x[e] + options.step), below = evaluate_at(e, x[e] - options.step);
      const double numeric = (above - below) / (2 * options.step);
      const double error = std::abs(analytic[e] - numeric);
      const double excess = error - (options.atol + options.rtol * std::abs(numeric));
      if (excess <= 0) continue;  // false for NaN, which must not pass
      if (!result.ok && !(excess > worst)) continue;
      worst = std::isnan(excess) ? INFINITY : excess;
      const std::string input_name = i < options.names.size() ? options.names[i] : str("input ", i);
      result = {false,
                str(input_name, " ", element_name(static_cast<std::int64_t>(e), input.shape()), ": analytic ",
                    analytic[e], ", numeric ", numeric, ", relative error ", error / std::abs(numeric))};
    }
    input.value().copy_from(Tensor::from(x, input.shape()));
  }
  for (Variable& input : inputs) input.zero_grad();
  return result;
}

}  // namespace rodeo
