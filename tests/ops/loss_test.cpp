#include "ops/loss.h"

#include "core/memory_stats.h"
#include "core/storage.h"
#include "ops/combine.h"
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

TEST_P(OpsLoss, CrossEntropyIsNllOfLogSoftmax) {
  for (const std::int64_t c : {1, 7, 32, 47, 1000})
    for (const DType dtype : {DType::kF64, DType::kF32, DType::kBF16, DType::kF16}) {
      const std::int64_t nodes = 3000;
      const Tensor x = random_tensor({nodes, c}, dtype, device());
      std::vector<std::int64_t> label(nodes), index;
      for (std::int64_t i = 0; i < nodes; ++i) {
        label[i] = (i * 7) % c;
        if (i % 3 > 0) index.push_back(nodes - 1 - i);
      }
      index.insert(index.end(), {5, 5, 17});  // named more than once
      // The composed form rounds log-probabilities to the dtype: it is taken in f64.
      const Tensor wide = x.to(DType::kF64), seed = Tensor::full({}, 0.5, DType::kF64, device());
      const Variable fused(x, true), composed(wide, true);
      const Variable loss = cross_entropy(fused, ids(label), ids(index)),
                     want = nll_loss(log_softmax(composed), ids(label), ids(index));
      EXPECT_TRUE(near(loss.value(), doubles(want.value()), 8 * epsilon(dtype), 1e-6)) << c << " " << dtype;
      loss.backward(seed.to(loss.dtype()));
      want.backward(seed);
      const std::vector<double> dx = doubles(composed.grad());
      EXPECT_TRUE(near(fused.grad(), dx, 16 * epsilon(dtype), 16 * epsilon(dtype) / 2000))
          << c << " " << dtype;
      // Logits that nobody has any more are overwritten by their gradient, with the same bits.
      const Variable leaf(x, true), zero(Tensor::zeros(x.shape(), dtype, device()));
      const Variable consumed = cross_entropy(linear_combination(1, leaf, 1, zero), ids(label), ids(index));
      const MemoryGauge gauge(device());
      consumed.backward(seed.to(loss.dtype()));
      EXPECT_TRUE(same_bits(leaf.grad(), fused.grad())) << c << " " << dtype;
      if (x.numel() > 30000) {
        EXPECT_LT(gauge.bytes(), x.nbytes()) << c << " " << dtype;
      }
    }
  EXPECT_TRUE(gradients_ok(
      [&](const auto& in) {
        return cross_entropy(in[0], ids({0, 2, 1, 1}), ids({3, 0, 3}));
      },
      {random_variable({4, 3}, device())}));
  EXPECT_ERROR(cross_entropy(Tensor::zeros({2, 2}, DType::kF32, device()), ids({0, 0}), ids({})),
               "[cross_entropy] index is empty: the mean over no node is undefined");
}

TEST_P(OpsLoss, NodeMetricsOfSeveralSets) {
  const std::int64_t nodes = 2000, c = 41;
  const Tensor x = random_tensor({nodes, c}, DType::kF32, device());
  std::vector<std::int64_t> label(nodes), first, second;
  for (std::int64_t i = 0; i < nodes; ++i) {
    label[i] = i % 3 == 0 ? i % c : 0;
    (i % 4 == 0 ? first : second).push_back(i);
  }
  const Tensor metrics = node_metrics(x, ids(label), {ids(first), ids({}), ids(second), ids({8})});
  ASSERT_EQ(metrics.shape(), (Shape{4, 2}));
  const std::vector<double> got = doubles(metrics);
  const std::vector<Tensor> sets{ids(first), ids(second), ids({8})};
  for (std::size_t s = 0, at = 0; s < sets.size(); ++s, at += s == 1 ? 2 : 1) {
    EXPECT_EQ(got[2 * at], accuracy(x, ids(label), sets[s])) << s;
    EXPECT_NEAR(got[2 * at + 1], nll_loss(log_softmax(x), ids(label), sets[s]).item(), 1e-6) << s;
  }
  EXPECT_EQ(got[2], 0);
  EXPECT_EQ(got[3], 0);
  EXPECT_EQ(doubles(node_metrics(x, ids(label), {ids({})})), (std::vector<double>{0, 0}));
  EXPECT_TRUE(same_bits(metrics, node_metrics(x, ids(label), {ids(first), ids({}), ids(second), ids({8})})));
  EXPECT_ERROR(node_metrics(x, ids(label), std::vector<Tensor>(5, ids({0}))),
               "[node_metrics] at most 4 sets, got 5");
}

TEST_P(OpsLoss, NodeMetricsOfManyNodes) {
  constexpr std::int64_t n = 100003, c = 5;
  const Tensor x = random_tensor({n, c}, DType::kF32, device(), 1);
  const std::vector<double> score = doubles(x);
  std::vector<std::int64_t> label(n), all(n);
  std::vector<double> dx;
  double right = 0, loss = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    all[i] = n - 1 - i;
    label[i] = i * i % c;
    const double* row = score.data() + i * c;
    double sum = 0;
    for (std::int64_t j = 0; j < c; ++j) sum += std::exp(row[j]);
    for (std::int64_t j = 0; j < c; ++j) dx.push_back((std::exp(row[j]) / sum - (j == label[i])) / n);
    right += std::max_element(row, row + c) - row == label[i];
    loss += std::log(sum) - row[label[i]];
  }
  const std::vector<double> got = doubles(node_metrics(x, ids(label), {ids({3}), ids(all)}));
  EXPECT_EQ(got[2], right / n);
  EXPECT_NEAR(got[3], loss / n, 1e-6);
  const Variable logits(x, true);
  const Variable mean = cross_entropy(logits, ids(label), ids(all));
  EXPECT_NEAR(mean.value().item(), loss / n, 1e-6);
  mean.backward();
  EXPECT_TRUE(near(logits.grad(), dx, 1e-5, 1e-6 / n));
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

}  // namespace
}  // namespace rodeo::test
