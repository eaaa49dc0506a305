#include "ops/loss.h"

#include "core/storage.h"
#include "ops/optim.h"
#include "tests/support/devices.h"
#include "tests/support/gradcheck.h"

namespace rodeo::test {
namespace {

class OpsLoss : public OnDevice {
 protected:
  void SetUp() override {
    OnDevice::SetUp();
    set_poison_memory(true);
  }
  void TearDown() override { set_poison_memory(false); }
  Tensor ids(const std::vector<std::int64_t>& values) const { return Tensor::from(values, device()); }
};
RODEO_ON_ALL_DEVICES(OpsLoss);

TEST_P(OpsLoss, LogSoftmax) {
  for (const std::int64_t c : {1, 2, 7, 32, 33, 47, 1000})
    for (const DType dtype : {DType::kF64, DType::kF32, DType::kBF16, DType::kF16}) {
      const Tensor x = random_tensor({53, c}, dtype, device());
      const std::vector<double> xv = doubles(x);
      std::vector<double> want(xv);
      for (std::int64_t i = 0; i < 53; ++i) {
        double sum = 0;
        for (std::int64_t j = 0; j < c; ++j) sum += std::exp(xv[i * c + j]);
        for (std::int64_t j = 0; j < c; ++j) want[i * c + j] -= std::log(sum);
      }
      EXPECT_TRUE(near(log_softmax(x), want, 8 * epsilon(dtype), 8 * epsilon(dtype))) << c << " " << dtype;
    }
  EXPECT_TRUE(
      gradients_ok([](const auto& in) { return log_softmax(in[0]); }, {random_variable({4, 5}, device())}));
}

TEST_P(OpsLoss, LogSoftmaxDoesNotOverflow) {
  const Tensor x =
      Tensor::from(std::vector<float>{1e4f, -1e4f, 0, 88, 89, 90, -1e30f, 0, 1e30f}, {3, 3}, device());
  const std::vector<double> y = doubles(log_softmax(x));
  for (const double v : y) EXPECT_TRUE(std::isfinite(v));
  EXPECT_EQ(y[0], 0);
  EXPECT_EQ(y[1], -2e4);
}

TEST_P(OpsLoss, NllLoss) {
  const Tensor logp = random_tensor({6, 3}, DType::kF64, device());
  const std::vector<double> lp = doubles(logp);
  const Tensor label = ids({0, 2, 1, 1, 0, 2}), index = ids({5, 0, 0, 3});
  EXPECT_NEAR(nll_loss(logp, label, index).item(), -(lp[17] + lp[0] + lp[0] + lp[10]) / 4, 1e-12);
  EXPECT_TRUE(gradients_ok([&](const auto& in) { return nll_loss(in[0], label, index); },
                           {random_variable({6, 3}, device())}));
  EXPECT_TRUE(gradients_ok([&](const auto& in) { return nll_loss(log_softmax(in[0]), label, index); },
                           {random_variable({6, 3}, device())}));
}

TEST_P(OpsLoss, NllLossOverManyNodes) {
  const std::int64_t nodes = 5000;
  const Tensor logp = random_tensor({nodes, 4}, DType::kF32, device());
  const std::vector<double> lp = doubles(logp);
  std::vector<std::int64_t> label(nodes), index(nodes);
  double want = 0;
  for (std::int64_t i = 0; i < nodes; ++i) {
    label[i] = (i * 7) % 4;
    index[i] = nodes - 1 - i;
    want -= lp[i * 4 + label[i]] / nodes;
  }
  EXPECT_NEAR(nll_loss(logp, ids(label), ids(index)).item(), want, 1e-6);
}

TEST_P(OpsLoss, AccuracyCountsTheFirstOfEqualScores) {
  const Tensor scores =
      Tensor::from(std::vector<float>{1, 2, 0, 3, 3, 1, 3, 3, 1, NAN, 1, 0, 1, NAN, 2}, {5, 3}, device());
  const Tensor label = ids({1, 0, 1, 0, 2});
  EXPECT_EQ(accuracy(scores, label, ids({0})), 1);
  EXPECT_EQ(accuracy(scores, label, ids({1})), 1);
  EXPECT_EQ(accuracy(scores, label, ids({2})), 0);
  EXPECT_EQ(accuracy(scores, label, ids({3})), 0);
  EXPECT_EQ(accuracy(scores, label, ids({4})), 0);
  EXPECT_EQ(accuracy(scores, label, ids({0, 1, 2, 2})), 0.5);
  EXPECT_EQ(accuracy(scores, label, ids({})), 0);
}

TEST_P(OpsLoss, Errors) {
  const Tensor logp = Tensor::zeros({4, 3}, DType::kF32, device());
  EXPECT_ERROR(nll_loss(logp, ids({0, 0, 0, 0}), ids({})),
               "[nll_loss] index is empty: the mean over no node is undefined");
  EXPECT_ERROR(nll_loss(logp, ids({0, 0}), ids({0})), "[nll_loss] label must be i64 [4]");
  EXPECT_ERROR(nll_loss(logp, ids({0, 0, 0, 0}), Tensor::zeros({2}, DType::kI32, device())),
               "[nll_loss] index must be i64 [k]");
}

class OpsOptim : public OnDevice {};
RODEO_ON_ALL_DEVICES(OpsOptim);

TEST_P(OpsOptim, AdamStepsAsPublished) {
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    const Tensor p = random_tensor({37}, dtype, device(), 1), g = random_tensor({37}, dtype, device(), 2);
    const Tensor m = Tensor::zeros({37}, dtype, device()), v = Tensor::zeros({37}, dtype, device());
    std::vector<double> wp = doubles(p), wm(37), wv(37);
    const std::vector<double> gv = doubles(g);
    const AdamOptions o{.lr = 0.02, .weight_decay = 0.1};
    for (int step = 1; step <= 5; ++step) {
      adam_step(p, g, m, v, step, o);
      for (int i = 0; i < 37; ++i) {
        const double grad = gv[i] + o.weight_decay * wp[i];
        wm[i] = o.beta1 * wm[i] + (1 - o.beta1) * grad;
        wv[i] = o.beta2 * wv[i] + (1 - o.beta2) * grad * grad;
        wp[i] -= o.lr * (wm[i] / (1 - std::pow(o.beta1, step))) /
                 (std::sqrt(wv[i] / (1 - std::pow(o.beta2, step))) + o.eps);
      }
    }
    EXPECT_TRUE(near(p, wp, 50 * epsilon(dtype), 50 * epsilon(dtype)));
    EXPECT_EQ(doubles(g), gv);
  }
  const Tensor p = Tensor::zeros({2}, DType::kF32, device());
  EXPECT_ERROR(adam_step(p, Tensor::zeros({3}, DType::kF32, device()), p, p, 1, {}),
               "[adam_step] g must be [2], got [3]");
  EXPECT_ERROR(adam_step(p, p, p, p, 0, {}), "[adam_step] step counts from 1, got 0");
}

}  // namespace
}  // namespace rodeo::test
