/// Reverse-mode automatic differentiation by closures.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "core/tensor.h"

namespace rodeo {

/// What a gradient rule keeps of the forward pass: a value, or the way to compute the same bits again, which
/// saves the memory in between. Copies share it.
class SavedTensor {
 public:
  SavedTensor() = default;  // undefined
  explicit SavedTensor(Tensor value);
  /// Forgets the value; the first get() calls compute() for a new one.
  explicit SavedTensor(std::function<Tensor()> compute);
  bool defined() const { return state_ != nullptr; }
  const Tensor& get() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// A Tensor, its gradient, and the closure that made it. Copies share all three. Ops that use a variable keep
/// its value only where their rules do.
class Variable {
 public:
  Variable() = default;  // undefined
  explicit Variable(Tensor value, bool requires_grad = false);

  bool defined() const { return body_ != nullptr; }
  const Tensor& value() const;
  /// The value, for a rule to keep.
  SavedTensor saved() const;
  const Shape& shape() const { return value().shape(); }
  std::int64_t dim(int i) const { return value().dim(i); }
  DType dtype() const { return value().dtype(); }
  Device device() const { return value().device(); }
  bool requires_grad() const;
  /// Not made by a recorded op.
  bool is_leaf() const;

  /// d(root)/d(this), summed over all backward() calls since zero_grad(); undefined before the first.
  /// Kept for leaves (variables not made by an op) only.
  const Tensor& grad() const;
  void zero_grad();
  /// Replaces the value of a leaf: same shape and dtype; the device may differ. Drops the gradient.
  void set_value(Tensor value);

  /// Adds this variable's gradient to every leaf it was made from, then frees the recorded graph.
  /// `seed` is dL/d(this), of the same shape; it may be omitted when this has one element (then it is 1).
  /// Throws Error where a rule returns a gradient of another number, shape, dtype or device than its input.
  void backward(const Tensor& seed = {}) const;

 private:
  friend Variable record(std::string_view, Tensor, std::vector<Variable>,
                         std::function<std::vector<Tensor>(const Tensor&)>, SavedTensor);
  struct Node;
  struct Body;
  std::shared_ptr<Body> body_;
};

/// A gradient rule: from dL/dy to dL/d(input), one entry per input of the op. An entry may be left undefined
/// where that input does not require a gradient.
using GradientRule = std::function<std::vector<Tensor>(const Tensor& dy)>;

/// Makes the result of an op. `op` must outlive the variable (a string literal). The rule is kept only when
/// gradients are enabled and at least one input requires one. `saved`, if given, is what the rules of the
/// ops that use the result keep of it instead of y.
Variable record(std::string_view op, Tensor y, std::vector<Variable> inputs, GradientRule rule,
                SavedTensor saved = {});

/// While one lives, ops of this thread record nothing.
class NoGrad {
 public:
  NoGrad();
  ~NoGrad();
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  bool before_;
};
/// Whether ops of this thread record.
bool grad_enabled();

}  // namespace rodeo
