#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "layers/module.h"

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
    register_module(str(steps_.size()), step);
    layers_.push_back(std::move(layer));
    return add(Step([step](const Variable& x) { return step->forward(x); }));
  }
  /// Adds a function without parameters.
  Sequential& add(Step step) {
    steps_.push_back(std::move(step));
    return *this;
  }
  Variable forward(Variable x) const {
    for (const Step& step : steps_) x = step(x);
    return x;
  }

 private:
  std::vector<std::unique_ptr<Module>> layers_;
  std::vector<Step> steps_;
};

}  // namespace rodeo
