/// The base of layers and models: named parameters, training mode.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/variable.h"

namespace rodeo {

/// Parameters are registered by pointer to a member, sub-modules likewise, so a Module is neither copied nor
/// moved. Names are joined by dots: "conv1.weight".
class Module {
 public:
  Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  virtual ~Module() = default;

  /// In order of registration, sub-modules after own parameters.
  std::vector<std::pair<std::string, Variable>> named_parameters() const;
  std::vector<Variable> parameters() const;
  std::int64_t num_parameters() const;
  void zero_grad();

  /// Moves every parameter; gradients are dropped.
  void to(Device device);

  /// Dropout is active in training mode only. New modules are in training mode.
  void train(bool training = true);
  void eval() { train(false); }
  bool training() const { return training_; }

 protected:
  /// Makes *slot a parameter with this initial value.
  void register_parameter(std::string name, Variable* slot, Tensor value);
  void register_module(std::string name, Module* module);

 private:
  std::vector<std::pair<std::string, Variable*>> parameters_;
  std::vector<std::pair<std::string, Module*>> modules_;
  bool training_ = true;
};

}  // namespace rodeo
