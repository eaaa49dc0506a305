/// The interface of optimizers, and all that they share. A new one is a constructor and update():
/// train/sgd.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/variable.h"
#include "ops/row_reads.h"

namespace rodeo {

/// Numbers of a group of parameters. Every optimizer reads lr and weight_decay, and of the others those that
/// its formula has.
struct GroupOptions {
  double lr = 0.01;
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;  // Adam, AdamW
  double weight_decay = 0;
  double momentum = 0;    // Sgd
  bool nesterov = false;  // Sgd
  bool lazy = false;      // Adam, AdamW: elements without a gradient are skipped (ops/optim.h)
};

/// Parameters that share their options.
struct ParameterGroup {
  std::vector<Variable> parameters;
  GroupOptions options;
  /// Empty, or one for each parameter, null for some: of a matrix that is read by row. Its step takes memory
  /// and time for the rows that were read. Needs lazy.
  std::vector<std::shared_ptr<RowReads>> reads = {};
};

/// The state of an optimizer without the parameters, as copies on the host.
struct OptimizerState {
  /// What an optimizer keeps for each parameter, under one name.
  struct Slot {
    std::string name;             // "m"
    std::vector<Tensor> tensors;  // of each parameter; undefined before its first gradient
  };
  std::string optimizer;    // Optimizer::name()
  std::vector<Slot> slots;  // a missing one is undefined for all parameters
  Tensor steps;             // i64 [parameters + 1]: steps of each parameter; last, calls of step()
};

/// Updates parameters by their gradients. Deterministic: same gradients, same device, same bits.
///
/// Step counts and learning rates are in device memory, and so is the state. step() can therefore be captured
/// in a CUDA graph once every parameter with a gradient took a step, and set_rates() and restore() act on
/// replays.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// Updates every parameter that has a gradient, in place; the others are skipped. The first step of a
  /// parameter allocates its state: it throws Error during capture.
  /// clip_norm > 0 clips the norm of all gradients for this step (ops/grad_clip.h); grad() is unchanged.
  void step(double clip_norm = 0);
  /// Drops the gradient of every parameter.
  void zero_grad();
  /// The learning rates of the groups' options, in the order of parameters().
  std::vector<double> first_rates() const;
  /// Sets the learning rate of every parameter from the next step on, also for steps of a captured graph.
  /// Throws Error for another number of rates.
  void set_rates(const std::vector<double>& rates);
  /// Number of steps, including replayed ones. Waits for the device.
  std::int64_t step_count() const;
  /// step_count() in device memory: random numbers of a step are a function of it (core/random.h).
  const std::int64_t* step_counter() const;

  /// The parameters of all groups, in order.
  std::vector<Variable> parameters() const;
  /// The reads of all groups (ParameterGroup::reads), in the order of their parameters.
  std::vector<std::shared_ptr<RowReads>> reads() const;
  bool empty() const { return entries_.empty(); }
  /// "adam": begins the texts of its errors, and the names of its tensors in checkpoints.
  const std::string& name() const { return name_; }

  /// The state, which depends on no device. Waits for the device.
  OptimizerState state() const;
  /// Continues from `state`, in the memory that captured graphs read. Throws Error, and changes nothing, for
  /// the state of another optimizer, and for another number, other shapes or dtypes of parameters.
  void restore(const OptimizerState& state);

 protected:
  /// The update of one parameter.
  struct Update {
    Tensor p, g;                       // parameter and gradient, f32 or f64, alike
    const std::vector<Tensor>& state;  // like p, one for each of `state_names`; zeros at the first step
    const GroupOptions& options;       // lr is not read: see update()
    std::int64_t slot;                 // the parameter's entry of steps and lr
    Tensor rows;                       // those of p that g has; undefined: all. See takes_rows()
  };

  /// `state_names`: of the tensors that are kept for each parameter, without dots: {"m", "v"}.
  /// Throws Error for a negative lr or weight_decay, an undefined parameter, a parameter that appears twice,
  /// reads that are not lazy or not of their parameter, and parameters on several devices. Move the model to
  /// its device first.
  Optimizer(std::string name, std::vector<std::string> state_names, std::vector<ParameterGroup> groups);

  /// One step, with an update for each parameter that has a gradient; `updates` may be empty. It launches the
  /// same kernels for the same updates and waits for nothing.
  ///   steps  i64 [slots + 1]: update() increments the entries of the updates, and the last one
  ///   lr     f64 [slots]: the learning rates of this step
  /// Both are on the parameters' device. adam_step and sgd_step (ops/optim.h) do all of this.
  virtual void update(const std::vector<Update>& updates, const Tensor& steps, const Tensor& lr) = 0;
  /// Whether update() takes gradients of some rows, of a parameter of a lazy group.
  virtual bool takes_rows() const { return false; }

 private:
  struct Entry {
    Variable parameter;
    GroupOptions options;
    std::shared_ptr<RowReads> reads;  // null: the gradient is the parameter's
    std::vector<Tensor> state;        // allocated at the first gradient; empty before
  };
  void check_fits(const OptimizerState& state) const;

  std::string name_;
  std::vector<std::string> state_names_;
  std::vector<Entry> entries_;
  Tensor steps_;  // [entries + 1], see OptimizerState
  Tensor lr_;     // [entries]
};

}  // namespace rodeo
