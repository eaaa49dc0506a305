/// Reverse-mode automatic differentiation: every recorded op stores a closure that computes its gradient.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/tensor.h"

namespace rodeo {

class GradientRule;
class Variable;

/// A tensor that a gradient rule needs from the forward pass: its value, or a function that recomputes the
/// same bits in backward to save memory. Copies share it.
class SavedTensor {
 public:
  SavedTensor() = default;  // undefined
  explicit SavedTensor(Tensor value);
  /// The first get() calls compute() and keeps the result.
  explicit SavedTensor(std::function<Tensor()> compute);
  bool defined() const { return state_ != nullptr; }
  /// Whether get() has to compute.
  bool recomputes() const;
  const Tensor& get() const;
  /// For rules of either form (GradientRule): the tensor, or a Variable at its place in the recorded graph.
  const Tensor& like(const Tensor&) const { return get(); }
  Variable like(const Variable&) const;

 private:
  friend class Variable;
  friend Variable record(std::string_view, Tensor, std::vector<Variable>, GradientRule, SavedTensor);
  struct State;
  std::shared_ptr<State> state_;
};

/// A tensor, its gradient, and the gradient rule of the op that returned it. Copies share all three. An op
/// keeps the value of an input for backward only if its gradient rule needs it.
class Variable {
 public:
  Variable() = default;  // undefined
  explicit Variable(Tensor value, bool requires_grad = false);

  bool defined() const { return body_ != nullptr; }
  const Tensor& value() const;
  /// The value in the form that gradient rules keep.
  SavedTensor saved() const;
  /// For rules of either form (GradientRule).
  const Tensor& like(const Tensor&) const { return value(); }
  const Variable& like(const Variable&) const { return *this; }
  const Shape& shape() const { return value().shape(); }
  std::int64_t dim(int i) const { return value().dim(i); }
  DType dtype() const { return value().dtype(); }
  Device device() const { return value().device(); }
  bool requires_grad() const;
  /// Whether no other Variable or Tensor, and no other framework, has the value: an op that consumes this one
  /// may overwrite it.
  bool is_sole_owner() const;
  /// True unless a recorded op returned this variable.
  bool is_leaf() const;

  /// d(root)/d(this), accumulated over all backward() calls since zero_grad(); undefined before the first.
  /// Only leaves keep a gradient.
  const Tensor& grad() const;
  void zero_grad();
  /// Replaces the value of a leaf and drops its gradient. Shape and dtype must be equal; the device may
  /// differ.
  void set_value(Tensor value);

  /// Accumulates the gradients of all leaves that this variable depends on, then frees the recorded graph.
  /// `seed` is dL/d(this), of the same shape; for a variable with one element it defaults to 1. Throws Error
  /// if a gradient rule returns the wrong number of gradients, or one whose shape, dtype or device differs
  /// from its input's.
  void backward(const Tensor& seed = {}) const;

 private:
  friend class SavedTensor;
  friend Variable record(std::string_view, Tensor, std::vector<Variable>, GradientRule, SavedTensor);
  friend std::vector<Variable> gradients(const std::vector<Variable>&, const std::vector<Variable>&,
                                         const std::vector<Variable>&);
  struct Node;
  struct Body;
  std::shared_ptr<Body> body_;
};

/// A gradient rule computes dL/d(input) from dL/dy, one entry per input of the op. Entries of inputs that
/// require no gradient may be undefined. A rule that takes Variables too, such as a generic lambda of ops
/// that have both forms, can be differentiated again: it reaches what it keeps through like(dy).
class GradientRule {
 public:
  GradientRule() = default;
  template <typename Rule>
  requires std::is_invocable_v<const Rule&, const Tensor&> GradientRule(
      Rule rule) {  // implicit, so that record() takes a lambda
    if constexpr (std::is_invocable_v<const Rule&, const Variable&>) of_variables_ = rule;
    of_tensors_ = std::move(rule);
  }
  std::vector<Tensor> operator()(const Tensor& dy) const { return of_tensors_(dy); }
  std::vector<Variable> operator()(const Variable& dy) const { return of_variables_(dy); }
  bool is_differentiable() const { return of_variables_ != nullptr; }

 private:
  std::function<std::vector<Tensor>(const Tensor&)> of_tensors_;
  std::function<std::vector<Variable>(const Variable&)> of_variables_;
};

/// A rule with a function for each form.
template <typename OfTensors, typename OfVariables>
struct BothForms : OfTensors, OfVariables {
  using OfTensors::operator();
  using OfVariables::operator();
};

/// Wraps y, the result of an op, in a Variable. `op` must outlive it (a string literal). The rule is recorded
/// only if gradients are enabled and at least one input requires one. `saved`, if defined, is what the
/// gradient rules of later ops keep instead of y.
Variable record(std::string_view op, Tensor y, std::vector<Variable> inputs, GradientRule rule,
                SavedTensor saved = {});

/// The gradients of sum over k of <seeds[k], y[k]>, of each of `inputs`, as Variables that are recorded, so
/// that they can be differentiated again. Inputs need not be leaves; of one that no y depends on it is zero.
/// The graph stays, and no grad() changes. Throws Error where an op behind y has a rule of Tensors only, and
/// names it.
std::vector<Variable> gradients(const std::vector<Variable>& y, const std::vector<Variable>& inputs,
                                const std::vector<Variable>& seeds);

/// The value as a Tensor is printed, and whether it requires a gradient (core/print.h).
std::ostream& operator<<(std::ostream& out, const Variable& variable);

/// RAII guard that disables the recording of gradients on this thread, like torch.no_grad().
class NoGrad {
 public:
  /// With false, recording is enabled instead.
  explicit NoGrad(bool disable = true);
  ~NoGrad();
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  bool previous_;
};
/// Whether ops on this thread record gradients.
bool grad_enabled();

}  // namespace rodeo
