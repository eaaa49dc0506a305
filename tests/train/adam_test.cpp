#include "train/adam.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/devices.h"
#include "tests/support/near.h"

namespace rodeo {
namespace {

/// Adam in the words of the paper, one element, float64.
struct Reference {
  double p, m = 0, v = 0;
  int t = 0;
  void step(double g, const AdamOptions& o) {
    g += o.weight_decay * p;
    m = o.beta1 * m + (1 - o.beta1) * g;
    v = o.beta2 * v + (1 - o.beta2) * g * g;
    ++t;
    const double m_hat = m / (1 - std::pow(o.beta1, t)), v_hat = v / (1 - std::pow(o.beta2, t));
    p -= o.lr * m_hat / (std::sqrt(v_hat) + o.eps);
  }
};

class TrainAdam : public test::OnDevice {
 protected:
  static Variable parameter(const std::vector<double>& values) {
    return Variable(Tensor::from(values, device()), true);
  }
  static void set_grad(Variable& p, const std::vector<double>& g) {
    p.zero_grad();
    p.backward(Tensor::from(g, device()));
  }
};

TEST_P(TrainAdam, FollowsThePaperOverSeveralSteps) {
  const AdamOptions decayed{.lr = 0.02, .beta1 = 0.8, .beta2 = 0.95, .eps = 1e-7, .weight_decay = 0.1}, plain;
  Variable a = parameter({1.5, -2.0}), b = parameter({0.25});
  Reference a0{1.5}, a1{-2.0}, b0{0.25};
  Adam adam({{{a}, decayed}, {{b}, plain}});
  for (int i = 0; i < 7; ++i) {
    const double g0 = std::sin(i + 1.0), g1 = i == 3 ? 0 : -0.3 * i, g2 = 1e-3 * (i - 2);
    set_grad(a, {g0, g1});
    set_grad(b, {g2});
    adam.step();
    a0.step(g0, decayed);
    a1.step(g1, decayed);
    b0.step(g2, plain);
    EXPECT_TRUE(test::near(a.value(), {a0.p, a1.p}, 1e-13));
    EXPECT_TRUE(test::near(b.value(), {b0.p}, 1e-13));
  }
  EXPECT_EQ(adam.step_count(), 7);
}

TEST_P(TrainAdam, SkipsParametersWithoutGradient) {
  Variable used = parameter({1}), idle = parameter({1});
  Reference reference{1};
  Adam adam({{{used, idle}, {.weight_decay = 0.5}}});
  set_grad(used, {1});
  adam.step();
  EXPECT_EQ(idle.value().item(), 1);
  // The first gradient is the first step of that parameter, however late it comes.
  set_grad(idle, {0.25});
  adam.step();
  reference.step(0.25, {.weight_decay = 0.5});
  EXPECT_NEAR(idle.value().item(), reference.p, 1e-15);
}

TEST_P(TrainAdam, ZeroGradDropsEveryGradient) {
  Variable a = parameter({1}), b = parameter({2});
  Adam adam({{{a}, {}}, {{b}, {}}});
  set_grad(a, {1});
  set_grad(b, {1});
  adam.zero_grad();
  EXPECT_FALSE(a.grad().defined());
  EXPECT_FALSE(b.grad().defined());
}

TEST_P(TrainAdam, RejectsWhatCannotBeOptimised) {
  const Variable a = parameter({1});
  using Groups = std::vector<ParameterGroup>;
  EXPECT_ERROR(Adam(Groups{{{a}, {}}, {{a}, {}}}), "[adam] parameter 1 is parameter 0 again");
  EXPECT_ERROR(Adam(Groups{{{a, Variable()}, {}}}), "[adam] parameter 1 is undefined");
  EXPECT_ERROR(Adam(Groups{{{a}, {.lr = -1}}}),
               "[adam] lr, eps and weight_decay must not be negative, beta1 and beta2 must be in [0, 1)");
}

TEST_P(TrainAdam, AStateGoesBackToItsParametersOnly) {
  Variable a = parameter({1, 2}), b = parameter({3});
  Adam adam({{{a}, {}}, {{b}, {}}});
  const AdamState fresh = adam.state();
  set_grad(a, {0.5, -1});
  set_grad(b, {2});
  adam.step();
  const AdamState first = adam.state();
  const std::vector<double> a1 = a.value().to_vector<double>();
  adam.step();
  const std::vector<double> a2 = a.value().to_vector<double>();
  EXPECT_FALSE(test::same_bits(adam.state().m[0], first.m[0]));
  EXPECT_TRUE(test::same_bits(first.steps, Tensor::from(std::vector<std::int64_t>{1, 1, 1})));

  adam.restore(first);  // the second step again
  a.set_value(Tensor::from(a1, device()));
  set_grad(a, {0.5, -1});
  set_grad(b, {2});
  adam.step();
  EXPECT_EQ(a.value().to_vector<double>(), a2);

  adam.restore(fresh);  // no moments: the first step again
  EXPECT_EQ(adam.step_count(), 0);
  a.set_value(Tensor::from(std::vector<double>{1, 2}, device()));
  set_grad(a, {0.5, -1});
  set_grad(b, {2});
  adam.step();
  EXPECT_EQ(a.value().to_vector<double>(), a1);

  Variable c = parameter({1, 2}), d = parameter({3});
  Adam other({{{c}, {}}, {{d}, {}}});  // without moments: takes copies
  other.restore(first);
  set_grad(c, {0.5, -1});
  set_grad(d, {2});
  other.step();
  EXPECT_NE(c.value().to_vector<double>(), a1);
  AdamState bad = first;
  bad.m[0] = bad.v[0] = Tensor::zeros({3}, DType::kF64);
  EXPECT_ERROR(adam.restore(bad), "[adam] the moments of parameter 0 must be f64 [2]");
  bad.m[0] = bad.v[0] = Tensor::zeros({2}, DType::kF32);
  EXPECT_ERROR(adam.restore(bad), "[adam] the moments of parameter 0 must be f64 [2]");
  bad = first;
  bad.v[1] = {};
  EXPECT_ERROR(adam.restore(bad), "[adam] the moments of parameter 1 must be f64 [1]");
  bad = first;
  bad.m.pop_back();
  EXPECT_ERROR(adam.restore(bad), "[adam] the state must be of 2 parameters, got 1");
  bad = first;
  bad.steps = Tensor::zeros({2}, DType::kI64);
  EXPECT_ERROR(adam.restore(bad), "[adam] the state must be of 2 parameters, got 2");
}

RODEO_ON_ALL_DEVICES(TrainAdam);

}  // namespace
}  // namespace rodeo
