/// The base of layers and models: named parameters, training mode.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/variable.h"

namespace rodeo {

/// How PyTorch keeps a parameter that Rodeo keeps as it multiplies.
enum class TorchLayout {
  kSame,
  kTransposed,  // ours is [in, out], theirs [out, in]
  kLeadingOne,  // ours is [heads, out], theirs [1, heads, out]
};

/// Values by name, in PyTorch's names and shapes, on the CPU.
using StateDict = std::vector<std::pair<std::string, Tensor>>;

/// Parameters and buffers are registered by pointer to a member, sub-modules likewise, so a Module is neither
/// copied nor moved. Names are joined by dots, "conv1.lin.weight", and are those of PyTorch and PyTorch
/// Geometric wherever they have the layer: docs/pyg_parity.md.
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

  /// What is kept but not learned, as the running statistics of a BatchNorm. Named as parameters are.
  std::vector<std::pair<std::string, Tensor>> named_buffers() const;

  /// Parameters and buffers as torch.nn.Module.state_dict() has them: copies.
  StateDict state_dict() const;
  /// Takes the values; gradients are dropped. Throws Error, before anything is changed, for a name that is
  /// missing or that the module has not (but PyTorch's num_batches_tracked, which counts what is not used
  /// here), and for another shape or dtype.
  void load_state_dict(const StateDict& state);

  /// Moves every parameter and buffer; gradients are dropped.
  void to(Device device);

  /// Dropout is active in training mode only. New modules are in training mode.
  void train(bool training = true);
  void eval() { train(false); }
  bool training() const { return training_; }

 protected:
  /// Makes *slot a parameter with this initial value.
  void register_parameter(std::string name, Variable* slot, Tensor value,
                          TorchLayout layout = TorchLayout::kSame);
  /// Makes *slot a buffer with this initial value.
  void register_buffer(std::string name, Tensor* slot, Tensor value);
  void register_module(std::string name, Module* module);

 private:
  struct Entry {
    std::string name;
    Variable* parameter;  // or null
    Tensor* buffer;       // or null
    TorchLayout layout;
  };
  /// Own entries, then those of sub-modules, under their whole names.
  std::vector<Entry> entries() const;

  std::vector<Entry> entries_;
  std::vector<std::pair<std::string, Module*>> modules_;
  bool training_ = true;
};

}  // namespace rodeo
