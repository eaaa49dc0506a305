/// Base class of layers and models: named parameters, buffers, training mode.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/variable.h"

namespace rodeo {

/// How the shape of a parameter differs in PyTorch's state_dict.
enum class TorchLayout {
  kSame,
  kTransposed,  // ours is [in, out], theirs [out, in]
  kLeadingOne,  // ours is [heads, out], theirs [1, heads, out]
};

/// Tensors by name, with PyTorch's names and shapes, on the CPU.
using StateDict = std::vector<std::pair<std::string, Tensor>>;

/// Parameters, buffers and sub-modules are registered by pointers to members, so that a Module cannot be
/// copied or moved. Names are joined by dots ("conv1.lin.weight") and equal those of PyTorch and PyTorch
/// Geometric if these have the layer: docs/pyg_parity.md.
class Module {
 public:
  Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  virtual ~Module() = default;

  /// In order of registration; those of sub-modules follow the module's own.
  std::vector<std::pair<std::string, Variable>> named_parameters() const;
  std::vector<Variable> parameters() const;
  std::int64_t num_parameters() const;
  void zero_grad();

  /// State that is not learned, such as the running statistics of BatchNorm. Same order and names.
  std::vector<std::pair<std::string, Tensor>> named_buffers() const;

  /// Copies of parameters and buffers, as torch.nn.Module.state_dict() names and shapes them.
  StateDict state_dict() const;
  /// Copies the values and drops gradients. Throws Error for missing or unknown names and for another shape
  /// or dtype; the module is unchanged then. PyTorch's num_batches_tracked is ignored.
  void load_state_dict(const StateDict& state);

  /// Moves all parameters and buffers to `device` and drops gradients.
  void to(Device device);

  /// Dropout is active in training mode only. New modules are in training mode.
  void train(bool training = true);
  void eval() { train(false); }
  /// Whether training steps over one input launch the same kernels over the same memory, so that a captured
  /// CUDA graph can replay them: that of all sub-modules. False for a module that draws another graph in each
  /// step, or has a gradient that waits for the device.
  virtual bool has_fixed_steps() const;
  bool training() const { return training_; }

 protected:
  // A name must not be that of another parameter, buffer or module: Error otherwise.

  /// Sets *slot to a parameter with this initial value.
  void register_parameter(std::string name, Variable* slot, Tensor value,
                          TorchLayout layout = TorchLayout::kSame);
  /// Sets *slot to a buffer with this initial value.
  void register_buffer(std::string name, Tensor* slot, Tensor value);
  void register_module(std::string name, Module* module);

 private:
  struct Entry {
    std::string name;
    Variable* parameter;  // or null
    Tensor* buffer;       // or null
    TorchLayout layout;
  };
  /// Own entries, then those of sub-modules, with full names.
  std::vector<Entry> entries() const;
  /// Throws Error if an entry or a sub-module has this full name.
  void check_is_new(std::string_view name) const;

  std::vector<Entry> entries_;
  std::vector<std::pair<std::string, Module*>> modules_;
  bool training_ = true;
};

}  // namespace rodeo
