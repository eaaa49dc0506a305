#include "layers/module.h"

namespace rodeo {

std::vector<std::pair<std::string, Variable>> Module::named_parameters() const {
  std::vector<std::pair<std::string, Variable>> all;
  for (const auto& [name, slot] : parameters_) all.emplace_back(name, *slot);
  for (const auto& [prefix, module] : modules_)
    for (auto& [name, parameter] : module->named_parameters())
      all.emplace_back(prefix + "." + name, parameter);
  return all;
}

std::vector<Variable> Module::parameters() const {
  std::vector<Variable> all;
  for (auto& [name, parameter] : named_parameters()) all.push_back(parameter);
  return all;
}

std::int64_t Module::num_parameters() const {
  std::int64_t count = 0;
  for (const Variable& parameter : parameters()) count += parameter.shape().numel();
  return count;
}

void Module::zero_grad() {
  for (Variable& parameter : parameters()) parameter.zero_grad();
}

void Module::to(Device device) {
  for (Variable& parameter : parameters()) parameter.set_value(parameter.value().to(device));
}

void Module::train(bool training) {
  training_ = training;
  for (const auto& [name, module] : modules_) module->train(training);
}

void Module::register_parameter(std::string name, Variable* slot, Tensor value) {
  *slot = Variable(std::move(value), /*requires_grad=*/true);
  parameters_.emplace_back(std::move(name), slot);
}

void Module::register_module(std::string name, Module* module) {
  modules_.emplace_back(std::move(name), module);
}

}  // namespace rodeo
