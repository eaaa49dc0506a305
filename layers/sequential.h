#pragma once

#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "layers/linear.h"

namespace rodeo {

/// A chain of steps, as torch.nn.Sequential. The parameters of step i are named "i.weight", ...
///   Sequential mlp;
///   mlp.add(std::make_unique<Linear>(8, 16, random))
///      .add([](const Variable& x) { return relu(x); })
///      .add(std::make_unique<Linear>(16, 4, random));
class Sequential : public Module {
 public:
  using Step = std::function<Variable(const Variable&)>;

  /// Adds a module that has Variable forward(const Variable&).
  template <class Layer>
  Sequential& add(std::unique_ptr<Layer> layer) {
    Layer* step = layer.get();
    if constexpr (std::is_same_v<Layer, Linear>)
      if (steps_.empty()) first_linear_ = step;
    register_module(str(steps_.size()), step);
    layers_.push_back(std::move(layer));
    return add(Step([step](const Variable& x) { return step->forward(x); }));
  }
  /// Adds a function without parameters.
  Sequential& add(Step step) {
    steps_.push_back(std::move(step));
    return *this;
  }
  Variable forward(Variable x) const { return forward_from(0, std::move(x)); }
  /// The steps from number `first` on.
  Variable forward_from(std::size_t first, Variable x) const {
    for (std::size_t i = first; i < steps_.size(); ++i) x = steps_[i](x);
    return x;
  }
  /// Step 0 if it is a Linear layer, else null: a layer may aggregate after its product.
  const Linear* first_linear() const { return first_linear_; }

 private:
  std::vector<std::unique_ptr<Module>> layers_;
  std::vector<Step> steps_;
  const Linear* first_linear_ = nullptr;
};

}  // namespace rodeo
