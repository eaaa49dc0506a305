#include "core/gradcheck.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iomanip>
#include <limits>
#include <ostream>
#include <set>
#include <utility>

#include "core/random.h"

namespace rodeo {
namespace {

using Function = std::function<std::vector<Variable>(const std::vector<Variable>&)>;
using Values = std::vector<double>;

std::string element_name(std::int64_t at, const Shape& shape) {
  std::string text;
  for (int d = shape.rank() - 1; d >= 0; --d) {
    text = str(at % shape[d], text.empty() ? "" : ", ", text);
    at /= shape[d];
  }
  return "[" + text + "]";
}

bool same_bits(const Tensor& a, const Tensor& b) {
  if (a.defined() != b.defined()) return false;
  if (!a.defined()) return true;
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) return false;
  std::vector<unsigned char> left(static_cast<std::size_t>(a.nbytes())), right(left.size());
  a.copy_to_host(left.data());
  b.copy_to_host(right.data());
  return left == right;
}

// RAII guard: restores the values and zeroes the gradients of the inputs.
class InputGuard {
 public:
  explicit InputGuard(std::vector<Variable>& inputs) : inputs_(inputs) {
    for (const Variable& input : inputs) originals_.push_back(input.value().clone());
  }
  ~InputGuard() {
    try {
      for (std::size_t i = 0; i < inputs_.size(); ++i) {
        inputs_[i].value().copy_from(originals_[i]);
        inputs_[i].zero_grad();
      }
    } catch (const Error&) {  // the device is lost; the caller has that Error already
    }
  }
  InputGuard(const InputGuard&) = delete;
  InputGuard& operator=(const InputGuard&) = delete;

  const std::vector<Tensor>& originals() const { return originals_; }

 private:
  std::vector<Variable>& inputs_;
  std::vector<Tensor> originals_;
};

struct Evaluation {
  std::vector<Tensor> y;      // outputs
  std::vector<Tensor> r;      // their projections; undefined where the output requires no gradient
  std::vector<Tensor> grads;  // of the inputs; undefined where there is none
};

class Checker {
 public:
  Checker(const Function& f, std::vector<Variable> inputs, const GradcheckOptions& options)
      : f_(f), inputs_(std::move(inputs)), options_(options) {
    check(options.step > 0 && options.rtol >= 0 && options.atol >= 0 && options.max_elements >= 0,
          "[gradcheck] step must be positive; rtol, atol and max_elements must not be negative");
    check(options.names.size() <= inputs_.size(), "[gradcheck] ", options.names.size(), " names for ",
          inputs_.size(), " inputs");
    for (std::size_t i = 0; i < inputs_.size(); ++i) check_input(i);
  }

  GradcheckResult run() {
    const InputGuard guard(inputs_);
    const Evaluation first = evaluate();
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      if (!same_bits(inputs_[i].value(), guard.originals()[i]))
        return {false, str("the function changed ", name(i))};
    const Evaluation second = evaluate();
    for (std::size_t k = 0; k < first.y.size(); ++k)
      if (second.y.size() != first.y.size() || !same_bits(first.y[k], second.y[k]))
        return {false, "the function is not deterministic: two evaluations of the same inputs differ"};
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      if (!same_bits(first.grads[i], second.grads[i]))
        return {false, str("the gradient of ", name(i), " is not deterministic: two backward passes differ")};
    if (std::string message = wrong_output(first); !message.empty()) return {false, message};
    if (std::none_of(first.r.begin(), first.r.end(), [](const Tensor& r) { return r.defined(); }))
      return {false, "the function recorded no gradient for any input"};

    for (const Tensor& r : first.r) r_.push_back(r.defined() ? r.to_vector<double>() : Values());
    GradcheckResult result;
    double worst = 0;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      std::string message;
      result.inputs.push_back(compare(i, first.grads[i], message));
      const GradcheckInput& input = result.inputs.back();
      if (input.wrong == 0 || (!result.ok && input.share_of_tolerance <= worst)) continue;
      worst = input.share_of_tolerance;
      result.ok = false;
      result.message = message;
    }
    return result;
  }

 private:
  std::string name(std::size_t i) const {
    return i < options_.names.size() ? options_.names[i] : str("input ", i);
  }

  void check_input(std::size_t i) const {
    const Variable& input = inputs_[i];
    check(input.defined(), "[gradcheck] ", name(i), " is undefined");
    if (!input.requires_grad()) return;
    check(input.is_leaf(), "[gradcheck] ", name(i), " must be a leaf, not the result of an op");
    check(input.dtype() == DType::kF64, "[gradcheck] ", name(i), " must be f64, got ", input.dtype(),
          ": differences of smaller floats are noise");
    for (std::size_t j = 0; j < i; ++j)
      check(!inputs_[j].value().shares_memory_with(input.value()) || input.shape().numel() == 0,
            "[gradcheck] ", name(j), " and ", name(i), " share memory: a change of one changes the other");
  }

  Evaluation evaluate() {
    for (Variable& input : inputs_) input.zero_grad();
    const std::vector<Variable> outputs = f_(inputs_);
    Evaluation out;
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      const Variable& y = outputs[k];
      check(y.defined(), "[gradcheck] output ", k, " is undefined");
      check(!y.requires_grad() || y.dtype() == DType::kF64, "[gradcheck] the function must return f64, got ",
            y.dtype());
      out.y.push_back(y.value().clone());  // the function may overwrite this memory later
      out.r.push_back(y.requires_grad() ? projection(y.value(), k) : Tensor());
    }
    // One backward pass for all outputs, because they may share parts of the recorded graph.
    const Variable root = record("gradcheck", Tensor::zeros({}, DType::kF64), outputs,
                                 [r = out.r](const Tensor&) { return r; });
    if (root.requires_grad()) root.backward();
    for (const Variable& input : inputs_)
      out.grads.push_back(input.grad().defined() ? input.grad().clone() : Tensor());
    return out;
  }

  Tensor projection(const Tensor& y, std::size_t k) const {
    Values r(static_cast<std::size_t>(y.numel()));
    for (std::size_t i = 0; i < r.size(); ++i) r[i] = 2.0 * to_unit(random_word(options_.seed, k, i)) - 1.0;
    return Tensor::from(r, y.shape(), y.device());
  }

  std::string wrong_output(const Evaluation& found) const {
    const std::vector<Tensor>& expected = options_.expected;
    check(expected.empty() || expected.size() == found.y.size(), "[gradcheck] ", expected.size(),
          " expected outputs for ", found.y.size());
    for (std::size_t k = 0; k < found.y.size(); ++k) {
      const Tensor& y = found.y[k];
      const Values got = y.to(kCpu).to(DType::kF64).to_vector<double>();
      if (!expected.empty())
        check(expected[k].defined() && expected[k].dtype() == DType::kF64 && expected[k].shape() == y.shape(),
              "[gradcheck] expected output ", k, " must be f64 ", y.shape());
      const Values want = expected.empty() ? got : expected[k].to_vector<double>();
      for (std::size_t e = 0; e < got.size(); ++e) {
        const double bound = options_.atol + options_.rtol * std::abs(want[e]);
        if (std::isfinite(got[e]) && std::abs(got[e] - want[e]) <= bound) continue;
        std::string text =
            str("output ", k, " ", element_name(static_cast<std::int64_t>(e), y.shape()), " is ", got[e]);
        return expected.empty() ? text : str(text, ", expected ", want[e]);
      }
    }
    return {};
  }

  /// The terms of the loss. Differences are computed term by term, so that outputs that do not depend on an
  /// element contribute exactly zero instead of rounding noise.
  Values loss_terms() const {
    const NoGrad no_grad;
    const std::vector<Variable> outputs = f_(inputs_);
    Values terms;
    for (std::size_t k = 0; k < r_.size(); ++k) {
      if (r_[k].empty()) continue;
      const Values y = outputs.at(k).value().to_vector<double>();
      check(y.size() == r_[k].size(), "[gradcheck] output ", k, " has another size at other inputs");
      for (std::size_t i = 0; i < y.size(); ++i) terms.push_back(r_[k][i] * y[i]);
    }
    return terms;
  }

  static double difference(const Values& a, const Values& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] - b[i];
    return sum;
  }

  std::vector<std::int64_t> elements_of(std::size_t i) const {
    const std::int64_t all = inputs_[i].shape().numel(), max = options_.max_elements;
    std::set<std::int64_t> picked;
    if (max == 0 || max >= all)
      for (std::int64_t e = 0; e < all; ++e) picked.insert(picked.end(), e);
    for (std::uint64_t draw = 0; static_cast<std::int64_t>(picked.size()) < std::min(max, all); ++draw)
      picked.insert(
          static_cast<std::int64_t>(((std::uint64_t{random_word(options_.seed, 1000 + i, 2 * draw)} << 32) +
                                     random_word(options_.seed, 1000 + i, 2 * draw + 1)) %
                                    static_cast<std::uint64_t>(all)));
    return {picked.begin(), picked.end()};
  }

  GradcheckInput compare(std::size_t i, const Tensor& grad, std::string& message) const {
    const Variable& input = inputs_[i];
    GradcheckInput found{.name = name(i), .shape = input.shape(), .constant = !input.requires_grad()};
    if (found.constant) return found;
    const Values x = input.value().to_vector<double>();
    // The gradient of an input that the function ignores is undefined and counts as zero.
    const Values analytic = grad.defined() ? grad.to_vector<double>() : Values(x.size(), 0.0);
    const Tensor flat = input.value().reshape({input.shape().numel()});
    const auto loss_at = [&](std::int64_t e, double value) {
      const Tensor element = flat.slice(e, e + 1);
      element.fill(value);
      Values at = loss_terms();
      element.fill(x[static_cast<std::size_t>(e)]);
      return at;
    };
    for (const std::int64_t e : elements_of(i)) {
      const double here = x[static_cast<std::size_t>(e)], step = options_.step;
      const double a = analytic[static_cast<std::size_t>(e)];
      const Values above = loss_at(e, here + step), below = loss_at(e, here - step);
      const double numeric = difference(above, below) / (2 * step), error = std::abs(a - numeric);
      const double share = error / (options_.atol + options_.rtol * std::abs(numeric));
      const bool wrong = !(share <= 1);  // NaN is wrong
      ++found.checked;
      found.wrong += wrong;
      const double badness = wrong && std::isnan(share) ? std::numeric_limits<double>::infinity() : share;
      if (found.checked > 1 && !(badness > found.share_of_tolerance)) continue;
      found.element = element_name(e, input.shape());
      found.analytic = a;
      found.numeric = numeric;
      found.relative_error = error == 0 ? 0 : error / std::max(std::abs(a), std::abs(numeric));
      found.share_of_tolerance = badness;
      if (!wrong) continue;
      message = str(found.name, " ", found.element, ": analytic ", a, ", numeric ", numeric,
                    ", relative error ", found.relative_error);
      const Values middle = loss_terms();
      const double right = difference(above, middle) / step, left = difference(middle, below) / step;
      if (std::abs(right - left) > 1e-3 * std::max({std::abs(right), std::abs(left), 1e-3}))
        message += str("; not differentiable there? Its slopes are ", left, " and ", right);
    }
    if (found.wrong > 1) message += str("; ", found.wrong, " of ", found.checked, " elements are wrong");
    return found;
  }

  const Function& f_;
  std::vector<Variable> inputs_;
  const GradcheckOptions& options_;
  std::vector<Values> r_;  // projections on the host; empty where the output requires no gradient
};

}  // namespace

GradcheckResult gradcheck(const Function& f, std::vector<Variable> inputs, const GradcheckOptions& options) {
  return Checker(f, std::move(inputs), options).run();
}

GradcheckResult gradcheck(const std::function<Variable(const std::vector<Variable>&)>& f,
                          std::vector<Variable> inputs, const GradcheckOptions& options) {
  return gradcheck(Function([&](const std::vector<Variable>& in) { return std::vector{f(in)}; }),
                   std::move(inputs), options);
}

GradcheckResult gradgradcheck(const std::function<Variable(const std::vector<Variable>&)>& f,
                              std::vector<Variable> inputs, GradcheckOptions options) {
  const NoGrad recording(false);
  const Variable y = f(inputs);
  Values values(static_cast<std::size_t>(y.shape().numel()));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = 2.0 * to_unit(random_word(options.seed, 2000, i)) - 1.0;
  if (!options.names.empty()) options.names.push_back("seed");
  inputs.emplace_back(Tensor::from(values, y.shape(), y.device()), true);
  const Function of_gradients = [&](const std::vector<Variable>& all) {
    const NoGrad again(false);  // differences are computed without recording
    std::vector<Variable> wanted;
    const std::vector<Variable> in(all.begin(), all.end() - 1);
    for (const Variable& x : in)
      if (x.requires_grad()) wanted.push_back(x);
    return gradients({f(in)}, wanted, {all.back()});
  };
  return gradcheck(of_gradients, std::move(inputs), options);
}

std::ostream& operator<<(std::ostream& out, const GradcheckResult& result) {
  std::size_t name = 5, shape = 5, element = 13;
  for (const GradcheckInput& input : result.inputs) {
    name = std::max(name, input.name.size());
    shape = std::max(shape, str(input.shape).size());
    element = std::max(element, input.element.size());
  }
  const auto cell = [&](std::size_t width, const auto& value) {
    out << std::left << std::setw(static_cast<int>(width) + 2) << str(value);
  };
  const auto number = [](double value) { return str(std::setprecision(9), value); };
  const auto row = [&](const auto& a, const auto& b, const auto& c, const auto& d, const auto& e,
                       const auto& f, const auto& g, const auto& h) {
    cell(name, a), cell(shape, b), cell(14, c), cell(6, d), cell(element, e), cell(16, f), cell(16, g);
    out << h << "\n";
  };
  if (!result.inputs.empty())
    row("input", "shape", "checked", "wrong", "worst element", "analytic", "numeric", "relative error");
  for (const GradcheckInput& input : result.inputs) {
    const bool any = input.checked > 0;
    row(input.name, input.shape,
        input.constant ? "constant" : str(input.checked, " of ", input.shape.numel()),
        any ? str(input.wrong) : "-", any ? input.element : "-", any ? number(input.analytic) : "-",
        any ? number(input.numeric) : "-", any ? str(std::setprecision(2), input.relative_error) : "-");
  }
  return out << (result.ok ? "ok" : "FAILED: " + result.message) << "\n";
}

}  // namespace rodeo
