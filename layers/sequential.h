#pragma once

#include <concepts>
#include <functional>
#include <initializer_list>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "layers/linear.h"

namespace rodeo {

/// A chain of steps, as torch.nn.Sequential. A step is a module, the name of an operator, or any function of
/// a Variable. The parameters of step i are named "i.weight", ...
///   Sequential mlp{std::make_unique<Linear>(8, 16, random), relu, std::make_unique<Dropout>(0.5, random),
///                  [](const Variable& x) { return leaky_relu(x, 0.1); },
///                  std::make_unique<Linear>(16, 4, random)};
///   Variable y = mlp.forward(x);
/// A module whose forward takes more than x is given with a function that calls it. A whole model:
///   const auto on_graph = [&](const GcnConv& conv, const Variable& x) { return conv.forward(graph, x); };
///   Sequential gcn{{std::make_unique<GcnConv>(1433, 16, random), on_graph}, relu,
///                  std::make_unique<Dropout>(0.5, random),
///                  {std::make_unique<GcnConv>(16, 7, random), on_graph}};
class Sequential : public Module {
 public:
  /// Converts implicitly from the forms above. Copies share the module.
  class Step {
   public:
    /// An operator that is overloaded for Tensor and Variable, by its name: relu, elu.
    Step(Variable (*op)(const Variable&)) : run_(op) {}  // NOLINT: implicit on purpose
    template <class F>
    requires std::is_invocable_r_v<Variable, const F&, const Variable&> Step(F function)
        : run_(std::move(function)) {}  // NOLINT
    /// A module that has Variable forward(const Variable&).
    template <std::derived_from<Module> Layer>
    Step(std::unique_ptr<Layer> layer)  // NOLINT
        : Step(std::move(layer), [](Layer& module, const Variable& x) { return module.forward(x); }) {
      if constexpr (std::is_same_v<Layer, Linear>) linear_ = static_cast<const Linear*>(module_.get());
    }
    /// Any module: the step is forward(*layer, x).
    template <std::derived_from<Module> Layer, class Forward>
    requires std::is_invocable_r_v<Variable, const Forward&, Layer&, const Variable&> Step(
        std::unique_ptr<Layer> layer, Forward forward) {
      check(layer != nullptr, "[sequential] a module must not be null");
      run_ = [own = layer.get(), forward = std::move(forward)](const Variable& x) {
        return forward(*own, x);
      };
      module_ = std::move(layer);
    }

   private:
    friend class Sequential;
    std::shared_ptr<Module> module_;  // null: a function
    const Linear* linear_ = nullptr;  // module_ if it is a Linear layer
    std::function<Variable(const Variable&)> run_;
  };

  Sequential() = default;
  Sequential(std::initializer_list<Step> steps) {
    for (const Step& step : steps) add(step);
  }

  Sequential& add(Step step) {
    if (step.module_) register_module(str(steps_.size()), step.module_.get());
    steps_.push_back(std::move(step));
    return *this;
  }
  Variable forward(Variable x) const { return forward_from(0, std::move(x)); }
  /// The steps from number `first` on.
  Variable forward_from(std::size_t first, Variable x) const {
    for (std::size_t i = first; i < steps_.size(); ++i) x = steps_[i].run_(x);
    return x;
  }
  /// Step 0 if it is a Linear layer, else null: a layer may aggregate after its product.
  const Linear* first_linear() const { return steps_.empty() ? nullptr : steps_[0].linear_; }
  /// The last step that is a Linear layer, or null.
  const Linear* last_linear() const {
    for (auto step = steps_.rbegin(); step != steps_.rend(); ++step)
      if (step->linear_) return step->linear_;
    return nullptr;
  }

 private:
  std::vector<Step> steps_;
};

}  // namespace rodeo
