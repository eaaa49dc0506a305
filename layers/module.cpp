#include "layers/module.h"

#include <algorithm>

namespace rodeo {
namespace {

Tensor transposed(const Tensor& x) {
  const Tensor y = Tensor::empty({x.dim(1), x.dim(0)}, x.dtype());
  dispatch_all(x.dtype(), [&]<class T>(T) {
    const T* from = x.data<T>();
    T* to = y.data<T>();
    for (std::int64_t i = 0; i < x.dim(0); ++i)
      for (std::int64_t j = 0; j < x.dim(1); ++j) to[j * x.dim(0) + i] = from[i * x.dim(1) + j];
  });
  return y;
}

Tensor to_torch(const Tensor& value, TorchLayout layout) {
  const Tensor x = value.to(kCpu);
  if (layout == TorchLayout::kTransposed) return transposed(x);
  return layout == TorchLayout::kLeadingOne ? x.clone().reshape({1, x.dim(0), x.dim(1)}) : x.clone();
}

Tensor from_torch(const Tensor& value, TorchLayout layout, Device device) {
  const Tensor x = value.to(kCpu);
  if (layout == TorchLayout::kTransposed) return transposed(x).to(device);
  return (layout == TorchLayout::kLeadingOne ? x.clone().reshape({x.dim(1), x.dim(2)}) : x.clone())
      .to(device);
}

}  // namespace

std::vector<Module::Entry> Module::entries() const {
  std::vector<Entry> all = entries_;
  for (const auto& [prefix, module] : modules_)
    for (Entry& entry : module->entries()) {
      entry.name = prefix + "." + entry.name;
      all.push_back(std::move(entry));
    }
  return all;
}

std::vector<std::pair<std::string, Variable>> Module::named_parameters() const {
  std::vector<std::pair<std::string, Variable>> all;
  for (const Entry& entry : entries())
    if (entry.parameter) all.emplace_back(entry.name, *entry.parameter);
  return all;
}

std::vector<std::pair<std::string, Tensor>> Module::named_buffers() const {
  std::vector<std::pair<std::string, Tensor>> all;
  for (const Entry& entry : entries())
    if (entry.buffer) all.emplace_back(entry.name, *entry.buffer);
  return all;
}

StateDict Module::state_dict() const {
  StateDict state;
  for (const Entry& entry : entries())
    state.emplace_back(entry.name,
                       to_torch(entry.parameter ? entry.parameter->value() : *entry.buffer, entry.layout));
  return state;
}

void Module::load_state_dict(const StateDict& state) {
  const std::vector<Entry> all = entries();
  const StateDict before = state_dict();
  std::vector<const Tensor*> found(all.size(), nullptr);
  for (const auto& [name, value] : state) {
    std::size_t at = 0;
    while (at < all.size() && all[at].name != name) ++at;
    if (at == all.size() && name.ends_with("num_batches_tracked")) continue;
    check(at < all.size(), "[module] there is no parameter or buffer named '", name, "'");
    const Tensor& own = before[at].second;
    check(value.defined() && value.shape() == own.shape() && value.dtype() == own.dtype(), "[module] ", name,
          " must be ", own.dtype(), " ", own.shape(), ", got ",
          value.defined() ? str(value.dtype(), " ", value.shape()) : "an undefined tensor");
    found[at] = &value;
  }
  for (std::size_t i = 0; i < all.size(); ++i)
    check(found[i] != nullptr, "[module] the state has no '", all[i].name, "'");
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Entry& entry = all[i];
    if (entry.parameter)
      entry.parameter->set_value(from_torch(*found[i], entry.layout, entry.parameter->device()));
    else
      entry.buffer->copy_from(*found[i]);
  }
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

bool Module::has_fixed_steps() const {
  return std::ranges::all_of(modules_, [](const auto& named) { return named.second->has_fixed_steps(); });
}

void Module::to(Device device) {
  for (const Entry& entry : entries())
    if (entry.parameter)
      entry.parameter->set_value(entry.parameter->value().to(device));
    else
      *entry.buffer = entry.buffer->to(device);
}

void Module::train(bool training) {
  training_ = training;
  for (const auto& [name, module] : modules_) module->train(training);
}

void Module::check_is_new(std::string_view name) const {
  check(!name.empty(), "[module] a parameter, buffer or module has an empty name");
  for (const auto& [own, module] : modules_)
    check(own != name, "[module] there is already a module named '", name, "'");
  for (const Entry& entry : entries())
    check(entry.name != name, "[module] there is already a ", entry.parameter ? "parameter" : "buffer",
          " named '", name, "'");
}

void Module::register_parameter(std::string name, Variable* slot, Tensor value, TorchLayout layout) {
  check_is_new(name);
  *slot = Variable(std::move(value), /*requires_grad=*/true);
  entries_.push_back({std::move(name), slot, nullptr, layout});
}

void Module::register_buffer(std::string name, Tensor* slot, Tensor value) {
  check_is_new(name);
  *slot = std::move(value);
  entries_.push_back({std::move(name), nullptr, slot, TorchLayout::kSame});
}

void Module::register_module(std::string name, Module* module) {
  check_is_new(name);
  for (const Entry& entry : module->entries()) check_is_new(name + "." + entry.name);
  modules_.emplace_back(std::move(name), module);
}

}  // namespace rodeo
