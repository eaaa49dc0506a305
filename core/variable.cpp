#include "core/variable.h"

#include <unordered_map>
#include <unordered_set>

#include "core/elementwise.h"
#include "core/kernel_observer.h"
#include "core/storage.h"

namespace rodeo {
namespace {
thread_local bool recording = true;
}  // namespace

NoGrad::NoGrad(bool disable) : previous_(recording) {
  recording = !disable;
}
NoGrad::~NoGrad() {
  recording = previous_;
}
bool grad_enabled() {
  return recording;
}

struct SavedTensor::State {
  Tensor value;
  std::function<Tensor()> compute;
  std::weak_ptr<Variable::Node> node;  // of the variable; the rule that keeps this may be of the same node
};

SavedTensor::SavedTensor(Tensor value)
    : state_(std::make_shared<State>(State{std::move(value), nullptr, {}})) {}

SavedTensor::SavedTensor(std::function<Tensor()> compute)
    : state_(std::make_shared<State>(State{{}, std::move(compute), {}})) {}

bool SavedTensor::recomputes() const {
  return state_ && state_->compute;
}

const Tensor& SavedTensor::get() const {
  static const Tensor undefined;
  if (!state_) return undefined;
  if (!state_->value.defined() && state_->compute) {
    state_->value = state_->compute();
    state_->compute = nullptr;
  }
  return state_->value;
}

/// A node of the recorded graph. It outlives the variable's value, which may be freed before backward.
struct Variable::Node {
  Shape shape;  // of the value and of its gradient
  DType dtype{};
  Device device;
  Tensor grad;
  bool requires_grad = false;
  bool freed = false;
  std::string_view op;                        // empty for a leaf
  std::vector<std::shared_ptr<Node>> inputs;  // null where no gradient is required
  GradientRule rule;

  /// Calls visit with each node behind root and the gradient of root in it, from outputs to inputs. With
  /// Tensors it frees each node then.
  template <typename T>
  static void propagate(const std::shared_ptr<Node>& root, const T& start,
                        const std::function<void(Node&, const T& dy)>& visit);

  void free_graph() {
    rule = {};
    std::vector<std::shared_ptr<Node>> pending = std::move(inputs);
    inputs.clear();
    // Iterative, because the destructors of a long chain would recurse once per op.
    while (!pending.empty()) {
      const std::shared_ptr<Node> input = std::move(pending.back());
      pending.pop_back();
      if (!input || input.use_count() > 1) continue;
      input->rule = {};
      for (std::shared_ptr<Node>& next : input->inputs) pending.push_back(std::move(next));
      input->inputs.clear();
    }
  }
  ~Node() { free_graph(); }
};

struct Variable::Body {
  Tensor value;
  SavedTensor saved;
  std::shared_ptr<Node> node;
};

Variable SavedTensor::like(const Variable&) const {
  if (!defined()) return {};
  Variable result(get());
  if (std::shared_ptr<Variable::Node> node = state_->node.lock()) result.body_->node = std::move(node);
  result.body_->saved = *this;
  return result;
}

Variable::Variable(Tensor value, bool requires_grad) : body_(std::make_shared<Body>()) {
  check(value.defined(), "[variable] cannot be constructed from an undefined tensor");
  check(!requires_grad || is_float(value.dtype()),
        "[variable] only floating-point tensors have gradients, got ", value.dtype());
  body_->node = std::make_shared<Node>();
  Node& node = *body_->node;
  node.shape = value.shape(), node.dtype = value.dtype(), node.device = value.device();
  node.requires_grad = requires_grad;
  body_->value = std::move(value);
}

const Tensor& Variable::value() const {
  check(defined(), "[variable] value() of an undefined variable");
  return body_->value;
}

SavedTensor Variable::saved() const {
  check(defined(), "[variable] saved() of an undefined variable");
  if (body_->saved.defined()) return body_->saved;
  SavedTensor saved(body_->value);
  saved.state_->node = body_->node;
  return saved;
}

bool Variable::requires_grad() const {
  return body_ && body_->node->requires_grad;
}

bool Variable::is_sole_owner() const {
  const auto& storage = value().shared_storage();
  return body_.use_count() == 1 && storage.use_count() == 1 && !storage->owner;
}

bool Variable::is_leaf() const {
  check(defined(), "[variable] is_leaf() of an undefined variable");
  return body_->node->op.empty();
}

const Tensor& Variable::grad() const {
  check(defined(), "[variable] grad() of an undefined variable");
  return body_->node->grad;
}

void Variable::zero_grad() {
  if (body_) body_->node->grad = {};
}

void Variable::set_value(Tensor value) {
  check(is_leaf(), "[variable] set_value() needs a leaf");
  check(value.shape() == shape() && value.dtype() == dtype(), "[variable] set_value() needs ", dtype(), " ",
        shape(), ", got ", value.dtype(), " ", value.shape());
  body_->node->device = value.device();
  body_->value = std::move(value);
  body_->node->grad = {};
}

Variable record(std::string_view op, Tensor y, std::vector<Variable> inputs, GradientRule rule,
                SavedTensor saved) {
  Variable result(std::move(y));
  result.value().storage()->info.set_producer(op);
  if (!recording) return result;
  if (saved.defined()) saved.state_->node = result.body_->node;
  result.body_->saved = std::move(saved);
  Variable::Node& node = *result.body_->node;
  for (const Variable& input : inputs) node.requires_grad |= input.requires_grad();
  if (!node.requires_grad) return result;
  node.op = op;
  for (const Variable& input : inputs)
    node.inputs.push_back(input.requires_grad() ? input.body_->node : nullptr);
  node.rule = std::move(rule);
  return result;
}

namespace {

const Tensor& value_of(const Tensor& x) {
  return x;
}
const Tensor& value_of(const Variable& x) {
  return x.value();
}

void add_to(Tensor& sum, const Tensor& term) {
  const auto nobody_else_reads = [&] {
    return sum.shared_storage().use_count() == 1 && !sum.storage()->owner;
  };
  if (!sum.defined())
    sum = term;
  else if (nobody_else_reads())
    add_in_place(sum, term);
  else
    sum = add_tensors(sum, term);
}
void add_to(Variable& sum, const Variable& term) {
  if (!sum.defined())
    sum = term;
  else
    sum = record("add", add_tensors(sum.value(), term.value()), {sum, term}, [](const auto& dy) {
      return std::vector{dy, dy};
    });
}

}  // namespace

template <typename T>
void Variable::Node::propagate(const std::shared_ptr<Node>& root, const T& start,
                               const std::function<void(Node&, const T& dy)>& visit) {
  // Depth-first post-order without recursion: inputs come before the ops that use them.
  std::vector<std::shared_ptr<Node>> order;
  std::vector<std::pair<std::shared_ptr<Node>, std::size_t>> stack{{root, 0}};
  std::unordered_set<Node*> seen{root.get()};
  while (!stack.empty()) {
    auto& [node, next] = stack.back();
    check(!node->freed, "[autograd] the graph behind '", node->op, "' was freed by an earlier backward()");
    if (next == node->inputs.size()) {
      order.push_back(std::move(node));
      stack.pop_back();
      continue;
    }
    const std::shared_ptr<Node>& input = node->inputs[next++];
    if (input && seen.insert(input.get()).second) stack.emplace_back(input, 0);
  }

  std::unordered_map<Node*, T> grads{{root.get(), start}};
  for (auto at = order.rbegin(); at != order.rend(); ++at) {
    Node& node = **at;
    const T dy = std::move(grads[&node]);
    grads.erase(&node);
    visit(node, dy);
    if (node.op.empty()) continue;
    const GradientScope gradient_scope(node.op);
    const std::vector<T> dx = node.rule(dy);
    check(dx.size() == node.inputs.size(), "[autograd] the rule of '", node.op, "' returned ", dx.size(),
          " gradients for ", node.inputs.size(), " inputs");
    for (std::size_t i = 0; i < dx.size(); ++i) {
      if (!node.inputs[i]) continue;
      Node& input = *node.inputs[i];
      check(dx[i].defined(), "[autograd] the rule of '", node.op, "' returned no gradient for input ", i);
      check(dx[i].shape() == input.shape && dx[i].dtype() == input.dtype && dx[i].device() == input.device,
            "[autograd] the rule of '", node.op, "' returned a gradient of ", dx[i].dtype(), " ",
            dx[i].shape(), " on ", dx[i].device(), " for input ", i, ", which is ", input.dtype, " ",
            input.shape, " on ", input.device);
      value_of(dx[i]).storage()->info.set_producer(node.op, /*in_gradient=*/true);
      add_to(grads[&input], dx[i]);
    }
    if constexpr (std::is_same_v<T, Tensor>) {
      node.freed = true;
      node.free_graph();
    }
  }
}

void Variable::backward(const Tensor& seed) const {
  check(requires_grad(), "[autograd] backward() of a variable that requires no gradient");
  check(seed.defined() || shape().numel() == 1, "[autograd] backward() of a variable of shape ", shape(),
        " needs a seed of that shape");
  const Tensor start = seed.defined() ? seed : Tensor::full(shape(), 1, dtype(), device());
  check(start.shape() == shape() && start.dtype() == dtype() && start.device() == device(),
        "[autograd] seed must be ", dtype(), " ", shape(), " on ", device(), ", got ", start.dtype(), " ",
        start.shape(), " on ", start.device());
  Node::propagate<Tensor>(body_->node, start, [](Node& node, const Tensor& dy) {
    if (node.op.empty()) add_to(node.grad, dy);
  });
}

std::vector<Variable> gradients(const std::vector<Variable>& y, const std::vector<Variable>& inputs,
                                const std::vector<Variable>& seeds) {
  check(y.size() == seeds.size(), "[autograd] ", seeds.size(), " seeds for ", y.size(), " variables");
  const Variable root = record("gradients", Tensor::zeros({}, DType::kF32), y, [&](const auto& dy) {
    std::vector<std::decay_t<decltype(dy)>> terms;
    for (const Variable& seed : seeds) terms.push_back(seed.like(dy));
    return terms;
  });
  std::unordered_map<Variable::Node*, Variable> found;
  for (const Variable& input : inputs) found[input.body_->node.get()] = {};
  if (root.requires_grad())
    Variable::Node::propagate<Variable>(
        root.body_->node, Variable(root.value()), [&](Variable::Node& node, const Variable& dy) {
          if (const auto at = found.find(&node); at != found.end()) at->second = dy;
          check(
              node.op.empty() || node.rule.is_differentiable(), "[autograd] '", node.op,
              "' has no second derivative: its gradient rule takes Tensors only. backward() gives the first; "
              "docs/autograd.md lists the ops that have both");
        });
  std::vector<Variable> result;
  for (const Variable& input : inputs) {
    const Variable& dx = found[input.body_->node.get()];
    result.push_back(dx.defined() ? dx
                                  : Variable(Tensor::zeros(input.shape(), input.dtype(), input.device())));
  }
  return result;
}

}  // namespace rodeo
