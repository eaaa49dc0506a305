#include "core/variable.h"

#include <unordered_map>
#include <unordered_set>

#include "core/elementwise.h"
#include "core/op_observer.h"

namespace rodeo {
namespace {
thread_local bool recording = true;
}  // namespace

NoGrad::NoGrad() : before_(recording) {
  recording = false;
}
NoGrad::~NoGrad() {
  recording = before_;
}
bool grad_enabled() {
  return recording;
}

struct Variable::Node {
  Tensor value;
  Tensor grad;
  bool requires_grad = false;
  bool freed = false;
  std::string_view op;  // empty for a leaf
  std::vector<Variable> inputs;
  GradientRule rule;

  void free_graph() {
    rule = nullptr;
    std::vector<Variable> pending = std::move(inputs);
    inputs.clear();
    // Unlink node by node: the destructors of a long chain would recurse once per op.
    while (!pending.empty()) {
      const Variable input = std::move(pending.back());
      pending.pop_back();
      if (!input.node_ || input.node_.use_count() > 1) continue;
      input.node_->rule = nullptr;
      for (Variable& next : input.node_->inputs) pending.push_back(std::move(next));
      input.node_->inputs.clear();
    }
  }
  ~Node() { free_graph(); }
};

Variable::Variable(Tensor value, bool requires_grad) : node_(std::make_shared<Node>()) {
  check(value.defined(), "[variable] made of an undefined tensor");
  check(!requires_grad || is_float(value.dtype()),
        "[variable] only floating-point tensors have gradients, got ", value.dtype());
  node_->value = std::move(value);
  node_->requires_grad = requires_grad;
}

const Tensor& Variable::value() const {
  check(defined(), "[variable] value() of an undefined variable");
  return node_->value;
}

bool Variable::requires_grad() const {
  return node_ && node_->requires_grad;
}

bool Variable::is_leaf() const {
  check(defined(), "[variable] is_leaf() of an undefined variable");
  return node_->op.empty();
}

const Tensor& Variable::grad() const {
  check(defined(), "[variable] grad() of an undefined variable");
  return node_->grad;
}

void Variable::zero_grad() {
  if (node_) node_->grad = {};
}

void Variable::set_value(Tensor value) {
  check(defined() && node_->op.empty(), "[variable] set_value() needs a leaf");
  check(value.shape() == shape() && value.dtype() == dtype(), "[variable] set_value() needs ", dtype(), " ",
        shape(), ", got ", value.dtype(), " ", value.shape());
  node_->value = std::move(value);
  node_->grad = {};
}

Variable record(std::string_view op, Tensor y, std::vector<Variable> inputs, GradientRule rule) {
  y.note_maker(op, /*gradient=*/false);
  Variable result(std::move(y));
  bool needed = false;
  for (const Variable& input : inputs) needed |= input.requires_grad();
  if (!recording || !needed) return result;
  result.node_->requires_grad = true;
  result.node_->op = op;
  result.node_->inputs = std::move(inputs);
  result.node_->rule = std::move(rule);
  return result;
}

void Variable::backward(const Tensor& seed) const {
  check(requires_grad(), "[autograd] backward() of a variable that requires no gradient");
  check(seed.defined() || shape().numel() == 1, "[autograd] backward() of a variable of shape ", shape(),
        " needs a seed of that shape");
  const Tensor start = seed.defined() ? seed : Tensor::full(shape(), 1, dtype(), device());
  check(start.shape() == shape() && start.dtype() == dtype() && start.device() == device(),
        "[autograd] seed must be ", dtype(), " ", shape(), " on ", device(), ", got ", start.dtype(), " ",
        start.shape(), " on ", start.device());

  // Depth-first post-order without recursion: inputs come before the ops that use them.
  std::vector<std::shared_ptr<Node>> order;
  std::vector<std::pair<std::shared_ptr<Node>, std::size_t>> stack{{node_, 0}};
  std::unordered_set<Node*> seen{node_.get()};
  while (!stack.empty()) {
    auto& [node, next] = stack.back();
    check(!node->freed, "[autograd] the graph behind '", node->op, "' was freed by an earlier backward()");
    if (next == node->inputs.size()) {
      order.push_back(std::move(node));
      stack.pop_back();
      continue;
    }
    const std::shared_ptr<Node>& input = node->inputs[next++].node_;
    if (input && input->requires_grad && seen.insert(input.get()).second) stack.emplace_back(input, 0);
  }

  std::unordered_map<Node*, Tensor> grads{{node_.get(), start}};
  const auto accumulate = [](Tensor& sum, const Tensor& term) {
    sum = sum.defined() ? add_tensors(sum, term) : term;
  };
  for (auto at = order.rbegin(); at != order.rend(); ++at) {
    Node& node = **at;
    const Tensor dy = std::move(grads[&node]);
    grads.erase(&node);
    if (node.op.empty()) {
      accumulate(node.grad, dy);
      continue;
    }
    const GradientOf gradient(node.op);
    const std::vector<Tensor> dx = node.rule(dy);
    check(dx.size() == node.inputs.size(), "[autograd] the rule of '", node.op, "' returned ", dx.size(),
          " gradients for ", node.inputs.size(), " inputs");
    for (std::size_t i = 0; i < dx.size(); ++i) {
      const Variable& input = node.inputs[i];
      if (!input.requires_grad()) continue;
      check(dx[i].defined(), "[autograd] the rule of '", node.op, "' returned no gradient for input ", i);
      check(dx[i].shape() == input.shape() && dx[i].dtype() == input.dtype() &&
                dx[i].device() == input.device(),
            "[autograd] the rule of '", node.op, "' returned a gradient of ", dx[i].dtype(), " ",
            dx[i].shape(), " on ", dx[i].device(), " for input ", i, ", which is ", input.dtype(), " ",
            input.shape(), " on ", input.device());
      dx[i].note_maker(node.op, /*gradient=*/true);
      accumulate(grads[input.node_.get()], dx[i]);
    }
    node.freed = true;
    node.free_graph();
  }
}

}  // namespace rodeo
