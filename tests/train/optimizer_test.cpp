#include "train/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "core/cuda_graph.h"
#include "layers/linear.h"
#include "ops/grad_clip.h"
#include "ops/optim.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"
#include "train/adam.h"
#include "train/optimizer_registry.h"
#include "train/sgd.h"
#include "train/trainer.h"

namespace rodeo {
namespace {

/// One element in float64, in the words of PyTorch's documentation.
struct Reference {
  double p, m = 0, v = 0;
  int t = 0;
  void step(const std::string& optimizer, double g, const GroupOptions& o) {
    ++t;
    if (optimizer == "adamw")
      p -= o.lr * o.weight_decay * p;
    else
      g += o.weight_decay * p;
    if (optimizer == "sgd") {
      m = t == 1 ? g : o.momentum * m + g;
      if (o.momentum > 0) g = o.nesterov ? g + o.momentum * m : m;
      p -= o.lr * g;
      return;
    }
    m = o.beta1 * m + (1 - o.beta1) * g;
    v = o.beta2 * v + (1 - o.beta2) * g * g;
    const double m_hat = m / (1 - std::pow(o.beta1, t)), v_hat = v / (1 - std::pow(o.beta2, t));
    p -= o.lr * m_hat / (std::sqrt(v_hat) + o.eps);
  }
};

Variable parameter(const std::vector<double>& values, Device device) {
  return Variable(Tensor::from(values, device), true);
}
void set_grad(Variable& p, const std::vector<double>& g) {
  p.zero_grad();
  p.backward(Tensor::from(g, p.device()));
}

using Groups = std::vector<ParameterGroup>;
using Optimizers = std::unique_ptr<Optimizer>;

/// A registered optimizer with the options of each group.
Optimizers make(std::string_view name, Groups groups) {
  return find_optimizer(name).make(std::move(groups));
}

struct Case {
  std::string name;  // of the test
  std::string optimizer;
  GroupOptions options;
};
const Case kCases[] = {
    {"adam", "adam", {.lr = 0.02, .beta1 = 0.8, .beta2 = 0.95, .eps = 1e-7, .weight_decay = 0.1}},
    {"adamw", "adamw", {.lr = 0.02, .beta1 = 0.8, .beta2 = 0.95, .eps = 1e-7, .weight_decay = 0.1}},
    {"sgd", "sgd", {.lr = 0.02, .weight_decay = 0.1}},
    {"momentum", "sgd", {.lr = 0.02, .weight_decay = 0.1, .momentum = 0.9}},
    {"nesterov", "sgd", {.lr = 0.02, .weight_decay = 0.1, .momentum = 0.8, .nesterov = true}},
};

class TrainOptimizer : public testing::TestWithParam<std::tuple<Device, Case>> {
 protected:
  void SetUp() override {
    if (device().is_cuda() && !cuda_absence_reason().empty())
      GTEST_SKIP() << "no CUDA device: " << cuda_absence_reason();
  }
  static Device device() { return std::get<0>(GetParam()); }
  static const std::string& kind() { return std::get<1>(GetParam()).optimizer; }
  static const GroupOptions& options() { return std::get<1>(GetParam()).options; }
  static Variable parameter(const std::vector<double>& values) { return rodeo::parameter(values, device()); }
  static Optimizers make(Groups groups) { return rodeo::make(kind(), std::move(groups)); }
};
INSTANTIATE_TEST_SUITE_P(, TrainOptimizer,
                         testing::Combine(testing::Values(kCpu, cuda_device()), testing::ValuesIn(kCases)),
                         [](const auto& info) {
                           return (std::get<0>(info.param).is_cuda() ? "cuda_" : "cpu_") +
                                  std::get<1>(info.param).name;
                         });

TEST_P(TrainOptimizer, FollowsItsFormulaOverSeveralSteps) {
  const GroupOptions first = options(), plain{.momentum = options().momentum};
  Variable a = parameter({1.5, -2.0}), b = parameter({0.25});
  Reference a0{1.5}, a1{-2.0}, b0{0.25};
  const Optimizers optimizer = make({{{a}, first}, {{b}, plain}});
  EXPECT_EQ(optimizer->name(), kind());
  EXPECT_EQ(optimizer->first_rates(), (std::vector<double>{first.lr, plain.lr}));
  for (int i = 0; i < 7; ++i) {
    const double g0 = std::sin(i + 1.0), g1 = i == 3 ? 0 : -0.3 * i, g2 = 1e-3 * (i - 2);
    set_grad(a, {g0, g1});
    set_grad(b, {g2});
    optimizer->step();
    a0.step(kind(), g0, first);
    a1.step(kind(), g1, first);
    b0.step(kind(), g2, plain);
    EXPECT_TRUE(test::near(a.value(), {a0.p, a1.p}, 1e-13));
    EXPECT_TRUE(test::near(b.value(), {b0.p}, 1e-13));
  }
  EXPECT_EQ(optimizer->step_count(), 7);
}

TEST_P(TrainOptimizer, SetsRatesAndClips) {
  Variable a = parameter({1.5}), b = parameter({0.25});
  Reference a0{1.5}, b0{0.25};
  const Optimizers optimizer = make({{{a, b}, options()}});
  for (int i = 0; i < 4; ++i) {
    GroupOptions now = options();
    now.lr = 0.1 / (i + 1);
    optimizer->set_rates({now.lr, 2 * now.lr});
    set_grad(a, {3});
    set_grad(b, {-4});
    optimizer->step(i < 2 ? 2.5 : 0);
    EXPECT_EQ(a.grad().item(), 3) << "gradients are unchanged";
    const double scale = i < 2 ? 2.5 / (5 + 1e-6) : 1;
    a0.step(kind(), 3 * scale, now);
    now.lr *= 2;
    b0.step(kind(), -4 * scale, now);
    EXPECT_NEAR(a.value().item(), a0.p, 1e-13);
    EXPECT_NEAR(b.value().item(), b0.p, 1e-13);
  }
  EXPECT_ERROR(optimizer->set_rates({1}), "[" + kind() + "] 2 rates are needed, got 1");
}

TEST_P(TrainOptimizer, SkipsParametersWithoutGradient) {
  Variable used = parameter({1}), idle = parameter({1});
  Reference reference{1};
  const Optimizers optimizer = make({{{used, idle}, options()}});
  set_grad(used, {1});
  optimizer->step();
  EXPECT_EQ(idle.value().item(), 1);
  // The first gradient is the first step of that parameter, however late it comes.
  set_grad(idle, {0.25});
  optimizer->step();
  reference.step(kind(), 0.25, options());
  EXPECT_NEAR(idle.value().item(), reference.p, 1e-15);
  optimizer->zero_grad();
  EXPECT_FALSE(used.grad().defined() || idle.grad().defined());
}

TEST_P(TrainOptimizer, RejectsWhatCannotBeOptimised) {
  const Variable a = parameter({1});
  const std::string who = "[" + kind() + "] ";
  EXPECT_ERROR(make(Groups{{{a}, {}}, {{a}, {}}}), who + "parameter 1 is parameter 0 again");
  EXPECT_ERROR(make(Groups{{{a, Variable()}, {}}}), who + "parameter 1 is undefined");
  EXPECT_ERROR(make(Groups{{{a}, {.lr = -1}}}),
               who + "lr and weight_decay must not be negative, got -1 and 0");
}

TEST_P(TrainOptimizer, GoesOnFromAStateWithTheSameBits) {
  Variable a = parameter({1, 2}), b = parameter({3}), idle = parameter({4});
  const auto step = [&](Optimizer& optimizer, Variable& x, Variable& y) {
    set_grad(x, {0.5, -1});
    set_grad(y, {2});
    optimizer.step();
    return x.value().to_vector<double>();
  };
  const Optimizers optimizer = make({{{a, b, idle}, options()}});
  const OptimizerState fresh = optimizer->state();
  const std::vector<double> a1 = step(*optimizer, a, b);
  const OptimizerState first = optimizer->state();
  EXPECT_EQ(first.optimizer, kind());
  EXPECT_TRUE(test::same_bits(first.steps, Tensor::from(std::vector<std::int64_t>{1, 1, 0, 1})));
  for (const OptimizerState::Slot& slot : first.slots) {
    EXPECT_TRUE(slot.tensors.at(1).defined()) << slot.name;
    EXPECT_FALSE(slot.tensors.at(2).defined()) << "no gradient yet";
  }
  const std::vector<double> a2 = step(*optimizer, a, b);
  for (std::size_t k = 0; k < first.slots.size(); ++k)
    EXPECT_FALSE(test::same_bits(optimizer->state().slots[k].tensors[0], first.slots[k].tensors[0]));

  optimizer->restore(first);  // the second step again
  EXPECT_EQ(optimizer->step_count(), 1);
  a.set_value(Tensor::from(a1, device()));
  EXPECT_EQ(step(*optimizer, a, b), a2);

  optimizer->restore(fresh);  // nothing is kept: the first step again
  EXPECT_EQ(optimizer->step_count(), 0);
  a.set_value(Tensor::from(std::vector<double>{1, 2}, device()));
  EXPECT_EQ(step(*optimizer, a, b), a1);

  Variable c = parameter(a1), d = parameter({3}), e = parameter({4});
  const Optimizers other = make({{{c, d, e}, options()}});  // before its first step: takes copies
  other->restore(first);
  EXPECT_EQ(step(*other, c, d), a2);
}

TEST_P(TrainOptimizer, AStateGoesBackToItsParametersOnly) {
  Variable a = parameter({1, 2}), b = parameter({3});
  const Optimizers optimizer = make({{{a, b}, options()}});
  set_grad(a, {0.5, -1});
  set_grad(b, {2});
  optimizer->step();
  const OptimizerState good = optimizer->state();
  const std::string who = "[" + kind() + "] the state";
  OptimizerState bad = good;
  bad.optimizer = "other";
  EXPECT_ERROR(optimizer->restore(bad), who + " must be of " + kind() + ", got that of 'other'");
  bad = good;
  bad.steps = Tensor::zeros({2}, DType::kI64);
  EXPECT_ERROR(optimizer->restore(bad), who + "'s steps must be i64 [3] for 2 parameters");
  bad = good;
  bad.slots.push_back({"other", good.slots.empty() ? std::vector<Tensor>(2) : good.slots[0].tensors});
  EXPECT_ERROR(optimizer->restore(bad), who + " has 'other', which " + kind() + " does not keep here");
  if (good.slots.empty()) return;
  const std::string slot = good.slots[0].name;
  for (const Tensor& wrong : {Tensor::zeros({3}, DType::kF64), Tensor::zeros({2}, DType::kF32)}) {
    bad = good;
    bad.slots[0].tensors[0] = wrong;
    EXPECT_ERROR(optimizer->restore(bad), who + "'s " + slot + " of parameter 0 must be f64 [2]");
  }
  bad = good;
  bad.slots[0].tensors.pop_back();
  EXPECT_ERROR(optimizer->restore(bad), who + "'s " + slot + " must be of 2 parameters, got 1");
  if (good.slots.size() == 1) return;
  bad = good;
  bad.slots[1].tensors[1] = {};
  EXPECT_ERROR(optimizer->restore(bad), who + " has 1 of 2 tensors of parameter 1");
  bad = good;
  bad.slots.pop_back();
  EXPECT_ERROR(optimizer->restore(bad), who + " has 1 of 2 tensors of parameter 0");
  for (std::size_t k = 0; k < good.slots.size(); ++k)
    EXPECT_TRUE(test::same_bits(optimizer->state().slots[k].tensors[0], good.slots[k].tensors[0]));
}

// Replays read counters, rates and state in the memory that restore() and set_rates() write.
TEST_P(TrainOptimizer, ReplaysOfACapturedStepGoOnFromAState) {
  if (!device().is_cuda()) GTEST_SKIP() << "CUDA graphs are for CUDA";
  Variable a = parameter({1, 2}), late = parameter({3});
  const Optimizers optimizer = make({{{a, late}, options()}});
  set_grad(a, {0.5, -1});
  optimizer->step();
  const OptimizerState first = optimizer->state();
  const std::vector<double> a1 = a.value().to_vector<double>();
  optimizer->set_rates({0.5, 0.5});
  optimizer->step(1);
  optimizer->step(1);
  const std::vector<double> a3 = a.value().to_vector<double>();

  optimizer->set_rates(optimizer->first_rates());
  const CudaGraph graph = CudaGraph::capture(device(), [&] { optimizer->step(1); });
  optimizer->restore(first);
  optimizer->set_rates({0.5, 0.5});
  a.value().copy_from(Tensor::from(a1));
  graph.launch();
  graph.launch();
  EXPECT_EQ(a.value().to_vector<double>(), a3);
  EXPECT_EQ(optimizer->step_count(), 3);
  if (first.slots.empty()) return;
  set_grad(late, {1});
  const std::string error = test::error_of([&] { CudaGraph::capture(device(), [&] { optimizer->step(); }); });
  EXPECT_NE(error.find("parameter 1 has its first gradient in a graph capture: take one step before"),
            std::string::npos)
      << error;
}

// A group without momentum, before or after one with it, does not take the state of the other.
TEST(TrainSgd, GroupsHaveMomentumOrNot) {
  for (const bool first : {true, false}) {
    Variable with = parameter({1}, kCpu), without = parameter({1}, kCpu);
    const ParameterGroup moves{{with}, {.momentum = 0.5}}, plain{{without}, {}};
    Sgd sgd(first ? std::vector{moves, plain} : std::vector{plain, moves});
    for (int i = 0; i < 2; ++i) {
      set_grad(with, {1});
      set_grad(without, {1});
      sgd.step();
    }
    EXPECT_NEAR(with.value().item(), 1 - 0.01 * 1 - 0.01 * 1.5, 1e-15) << first;
    EXPECT_NEAR(without.value().item(), 1 - 0.01 * 2, 1e-15) << first;
  }
}

TEST(TrainOptimizerRegistry, FindsByName) {
  EXPECT_EQ(optimizer_names("|"), "adam|adamw|sgd");
  EXPECT_ERROR(find_optimizer("lion"), "--optimizer must be one of adam, adamw, sgd, got 'lion'");
  Variable a = parameter({1}, kCpu), b = parameter({1}, kCpu);
  const Optimizers by_name = make_optimizer({.name = "sgd", .momentum = 0.5, .nesterov = true}, {{{a}, {}}});
  Sgd direct({{{b}, {.momentum = 0.5, .nesterov = true}}});
  for (int i = 0; i < 2; ++i) {
    set_grad(a, {1});
    set_grad(b, {1});
    by_name->step();
    direct.step();
  }
  EXPECT_EQ(a.value().item(), b.value().item());
  EXPECT_NEAR(a.value().item(), 1 - 0.01 * 1.5 - 0.01 * 1.75, 1e-15);
  EXPECT_ERROR(make_optimizer({.name = "sgd", .nesterov = true}, {{{a}, {}}}),
               "[sgd] nesterov needs a momentum above 0");
  EXPECT_ERROR(make_optimizer({.name = "sgd", .momentum = -1}, {{{a}, {}}}),
               "[sgd] momentum must not be negative, got -1");
  EXPECT_ERROR(make("adam", {{{a}, {.beta1 = 1}}}),
               "[adam] eps must not be negative, beta1 and beta2 must be in [0, 1), got 1e-08, 1 and 0.999");
}

/// An optimizer that the library does not have: each gradient is clipped apart from the others, with
/// momentum.
class ClippedDescent : public Optimizer {
 public:
  explicit ClippedDescent(Groups groups) : Optimizer("clipped", {"trace"}, std::move(groups)) {}

 private:
  void update(const std::vector<Update>& updates, const Tensor& steps, const Tensor& lr) override {
    std::vector<SgdUpdate> all;
    for (const Update& u : updates)
      all.push_back({u.p, clip_norm({u.g}, 0.25)[0], u.state[0], {.momentum = 0.5}, u.slot});
    sgd_step(all, steps, lr);
  }
};

class TrainNewOptimizer : public test::OnDevice {};
RODEO_ON_ALL_DEVICES(TrainNewOptimizer);

// The trainer captures its steps on CUDA, and goes on from its state with the same bits.
TEST_P(TrainNewOptimizer, TrainsAModelAndGoesOnFromItsState) {
  const Variable x(test::random_tensor({40, 3}, DType::kF32, device()));
  std::vector<std::int64_t> ids, labels;
  for (std::int64_t i = 0; i < 40; ++i) {
    ids.push_back(i);
    labels.push_back(x.value().to_vector<float>()[static_cast<std::size_t>(3 * i)] > 0);
  }
  const Tensor all = Tensor::from(ids);
  const auto train = [&](Linear& model, int epochs, const TrainerState* from, std::vector<double>& losses) {
    Trainer trainer(model, [&] { return model.forward(x); }, {{model.parameters(), {.lr = 0.5}}},
                    Tensor::from(labels), {all, all, all},
                    {.epochs = epochs, .optimizer = {.make = [](Groups groups) -> Optimizers {
                                         return std::make_unique<ClippedDescent>(std::move(groups));
                                       }}});
    if (from) trainer.restore(*from);
    trainer.fit([&](const EpochReport& report) { losses.push_back(report.loss); });
    return trainer.state();
  };
  Random random(1), again(1);
  Linear model(3, 2, random, /*bias=*/true, device()), other(3, 2, again, /*bias=*/true, device());
  std::vector<double> whole, parts;
  train(model, 60, nullptr, whole);
  EXPECT_LT(whole.back(), 0.4 * whole.front());
  const TrainerState middle = train(other, 30, nullptr, parts);
  EXPECT_EQ(middle.optimizer.optimizer, "clipped");
  EXPECT_EQ(middle.optimizer.slots.at(0).name, "trace");
  train(other, 60, &middle, parts);
  EXPECT_EQ(parts, whole);
  EXPECT_TRUE(test::same_bits(other.weight().value().to(kCpu), model.weight().value().to(kCpu)));
}

}  // namespace
}  // namespace rodeo
